/** How long the service may keep us waiting. */

import { DAY, HOUR } from './units.ts'

/** Whether a wait, in milliseconds, is a mistake in a header instead of a rate limit. */
export function isMistakenWait(ms: number): boolean {
  return ms > DAY
}

/** The wait that is obeyed, in milliseconds: after a mistaken one the service is asked again within the hour. */
export function obeyedWait(ms: number): number {
  return isMistakenWait(ms) ? HOUR : ms
}
