/**
 * Signals: they watch people, whose activity follows from the posts of their organisation, and deliver it to a webhook, signed,
 * once for each run. Here a request starts a run instead of the time of day: a test starts two in a second.
 */

import { createHmac } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import { isoInstant } from '../../support/clock.ts'
import { HOUR } from '../../support/units.ts'
import { mixSeeds, seededRandom } from '../random.ts'
import { Refusal, served, type ServedPerson, type ServedWorld } from './world.ts'

export interface SentDelivery {
  readonly url: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

// The service's own is not documented.
const SIGNATURE_HEADER = 'x-webhook-signature'

const parameters = {
  signal_type: z.literal('person_activity'),
  profile_urls: z.array(z.string().min(1)).min(1),
  activity_types: z.array(z.enum(['reactions', 'comments'])).default(['reactions', 'comments']),
  name: z.string().default('Person Activity Monitor'),
  new_signal: z.boolean().default(false),
  signal_id: z.string().optional(),
  webhook_url: z.string().nullable().default(null),
  webhook_secret: z.string().nullable().default(null),
  additional_emails: z.array(z.string()).default([]),
}

interface Signal {
  readonly id: string
  readonly created: z.output<z.ZodObject<typeof parameters>>
  /** By address: the time up to which activity is delivered; null before the baseline. */
  readonly profiles: Map<string, number | null>
}

export class Signals {
  readonly #signals: Signal[] = []

  readonly endpoint = served('POST', '/api/v1/signal/create', parameters, (asked) => {
    const signal = this.#signalFor(asked)
    const added = asked.profile_urls.filter((url) => !signal.profiles.has(url))
    for (const url of added) signal.profiles.set(url, null)
    const { name, activity_types, webhook_url, additional_emails } = signal.created
    const message = {
      signal_id: signal.id,
      signal_type: 'person_activity',
      name,
      status: 'active',
      profile_urls: [...signal.profiles.keys()],
      activity_types,
      email_recipients: ['account@example.com', ...additional_emails],
      webhook_url,
    }
    return { body: { message }, credits: added.length, items: added.length }
  })

  #signalFor(asked: Signal['created']): Signal {
    const named = this.#signals.find(({ id }) => id === asked.signal_id)
    if (asked.signal_id !== undefined && named === undefined) throw new Refusal('no such signal')
    const found = named ?? (asked.new_signal ? undefined : this.#signals[0])
    if (found !== undefined) return found
    const id = `sig-${this.#signals.length + 1}`
    const signal = { id, created: asked, profiles: new Map<string, number | null>() }
    this.#signals.push(signal)
    return signal
  }

  /** Runs each signal and returns its deliveries: a baseline for new people, and recent activity of the others. */
  run(world: ServedWorld): SentDelivery[] {
    if (this.#signals.length === 0) return []
    const pageOf = ({ network_url: page, profile_id: id }: ServedPerson['person']) => page ?? id
    const people = new Map(world.people().map((one) => [pageOf(one.person), one]))
    return this.#signals.flatMap((signal) => {
      const { webhook_url: url, webhook_secret: secret, name } = signal.created
      const about = { user_email: 'account@example.com', signal_type: 'person_activity' }
      const changes = changesSince(signal, world, people)
      const profiles = [...signal.profiles]
        .filter(([, until]) => until === null)
        .map(([page]) => {
          return { profile_url: page, profile_name: people.get(page)?.person.full_name ?? null }
        })
      for (const [page, until] of signal.profiles) {
        if (until === null || people.has(page)) signal.profiles.set(page, world.nowMs)
      }
      const facts = { ...about, job_id: signal.id, job_name: name }
      const bodies = [
        ...(profiles.length === 0 ? [] : [{ event: 'baseline', ...facts, profiles }]),
        ...(changes.length === 0 ? [] : [{ event: 'person_activity', ...facts, changes }]),
      ]
      return (url === null ? [] : bodies).map((event) => {
        const body = JSON.stringify(event)
        const hmac = secret !== null && createHmac('sha256', secret).update(body).digest('hex')
        return { url: url ?? '', body, headers: hmac ? { [SIGNATURE_HEADER]: hmac } : {} }
      })
    })
  }
}

function changesSince(
  { created: { activity_types: types }, profiles }: Signal,
  world: ServedWorld,
  people: ReadonlyMap<string, ServedPerson>,
) {
  return [...profiles]
    .flatMap(([url, since]) => {
      const person = people.get(url)
      if (person === undefined || since === null) return []
      return activitiesOf(url, person, world).filter(
        ({ at, type }) =>
          types.includes(type === 'reaction' ? 'reactions' : 'comments') &&
          at > since &&
          at <= world.nowMs,
      )
    })
    .map(changeOf)
    .toSorted((a, b) => (a.detected_at < b.detected_at ? -1 : 1))
}

const TYPES = ['reaction', 'comment', 'reply'] as const
const REACTIONS = ['LIKE', 'EMPATHY', 'PRAISE', 'APPRECIATION', 'INTEREST', 'ENTERTAINMENT']
/** The share of posts of their organisation to which a person reacts. */
const SHARE = 0.5

/** Activity some hours after each post of the person's organisation to which they react. */
function activitiesOf(url: string, person: ServedPerson, world: ServedWorld) {
  return world
    .posts()
    .filter(({ author }) => author.number === person.organization.number)
    .flatMap((post) => {
      const random = seededRandom(mixSeeds(Number(post.id) % 2 ** 31, crc32(url)))
      if (random() >= SHARE) return []
      const type = TYPES[Math.floor(random() * TYPES.length)] ?? 'reaction'
      return [{ url, person, post, type, at: post.at + Math.ceil(random() * 6) * HOUR }]
    })
}

function changeOf({ url, person, post, type, at }: ReturnType<typeof activitiesOf>[number]) {
  const about = `https://network.example/feed/update/urn:li:activity:${post.id}`
  const { name, network_url: page } = post.author.tracked
  const done =
    type === 'reaction'
      ? { reaction_type: REACTIONS[Number(post.id) % REACTIONS.length], target: 'post' }
      : { comment_text: 'Welcome!', comment_url: `${about}?comment=1` }
  return {
    event_id: `${type}-${post.id}-${crc32(url)}`,
    profile_url: url,
    profile_name: person.person.full_name,
    signal_type: type,
    change_summary: `${person.person.full_name ?? 'a person'}: ${type}`,
    detected_at: isoInstant(at + HOUR),
    change_data: {
      activity_type: type,
      occurred_at: isoInstant(at),
      post_url: about,
      post_urn: `urn:li:activity:${post.id}`,
      post_text: post.text.slice(0, 300),
      post_author: { name, url: page, headline: null },
      ...done,
    },
  }
}
