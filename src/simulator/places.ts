/** Where people are: made up from their ids, so that a file of events has it as well. Events do not say it, as the service's do not. */

import { sha256Hex } from '../support/hash.ts'

interface Place {
  readonly city: string
  readonly region: string
  /** Two letters, upper case. */
  readonly country: string
}

export const PLACES: readonly Place[] = [
  { city: 'London', region: 'England', country: 'GB' },
  { city: 'Berlin', region: 'Berlin', country: 'DE' },
  { city: 'Austin', region: 'Texas', country: 'US' },
  { city: 'Lyon', region: 'Auvergne-Rhône-Alpes', country: 'FR' },
  { city: 'Porto', region: 'Porto', country: 'PT' },
]

export function placeOf(profileId: string): Place {
  const byte = Number.parseInt(sha256Hex(profileId).slice(0, 2), 16)
  return PLACES[byte % PLACES.length] as Place
}
