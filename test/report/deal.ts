/** A deal for reports: Globex buys Acme on 1 March 2024, and Ada goes from Acme to Initech on her own. */

import type { GivenEvent } from '../helpers/warehouse.ts'

/** One event of a person by name, detected at noon. */
export function eventOf(
  name: string,
  organization: string,
  event_type: string,
  on: string,
): GivenEvent {
  return {
    profile_id: name,
    person_full_name: name,
    organization_id: organization.toLowerCase(),
    organization_name: organization,
    event_type,
    changed_at: `${on}T00:00:00Z`,
    detected_at: `${on}T12:00:00Z`,
    title_current: 'Engineer',
  }
}

export const deal: readonly GivenEvent[] = [
  ...Array.from({ length: 12 }, (_, at) => `Person ${at}`).flatMap((name, at) => [
    eventOf(name, 'Acme', 'joined', `2023-01-${10 + at}`),
    eventOf(name, 'Acme', 'left', '2024-03-01'),
    eventOf(name, 'Globex', 'joined', '2024-03-01'),
  ]),
  eventOf('Ada', 'Acme', 'joined', '2023-02-01'),
  eventOf('Ada', 'Acme', 'left', '2024-02-10'),
  eventOf('Ada', 'Initech', 'joined', '2024-02-12'),
]
