/** How long the service may keep us waiting. */

import { DAY, HOUR } from './units.ts'

/** Whether a wait, in milliseconds, is a mistake in a header instead of a rate limit. */
export function isMistakenWait(ms: number): boolean {
  return ms > DAY
}

/** The wait that we obey, in milliseconds: after a mistaken one we ask the service again within the hour. */
export function obeyedWait(ms: number): number {
  return isMistakenWait(ms) ? HOUR : ms
}
