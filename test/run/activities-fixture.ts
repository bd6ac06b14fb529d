/** Deliveries of a signal with texts as long as the service may send them. */

function activityOf(event_id: string, nth: number): object {
  const type = ['reaction', 'comment', 'reply'][nth % 3]
  const post = `https://network.example/feed/update/urn:li:activity:${nth}`
  const own =
    type === 'reaction'
      ? { reaction_type: 'PRAISE', target: 'post' }
      : { comment_text: `${nth} `.repeat(80), comment_url: `${post}?comment=${nth}` }
  return {
    event_id,
    profile_url: `https://network.example/in/person-${nth % 200}`,
    profile_name: 'Ada Adams',
    signal_type: type,
    change_summary: `Ada Adams: ${type}`,
    confidence: null,
    detected_at: '2026-03-01T12:00:00Z',
    change_data: {
      activity_type: type,
      occurred_at: new Date(Date.UTC(2026, 1, 1) + nth * 60_000).toISOString(),
      post_url: post,
      post_urn: `urn:li:activity:${nth}`,
      post_text: `${nth} We are hiring. `.repeat(30).slice(0, 300),
      post_author: { name: 'Acme', url: 'https://network.example/company/acme', headline: 'Acme' },
      ...own,
    },
  }
}

/** A delivery of this many activities that no other delivery has. */
export function aDelivery(delivery: number, activities: number): string {
  return JSON.stringify({
    event: 'person_activity',
    user_email: 'account@example.com',
    signal_type: 'person_activity',
    job_id: 'sig-1',
    job_name: 'Person Activity Monitor',
    changes: Array.from({ length: activities }, (_, nth) => activityOf(`e${delivery}-${nth}`, nth)),
  })
}
