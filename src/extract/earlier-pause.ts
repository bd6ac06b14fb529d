/** A time that the service named holds for every later run, too. */

import { UnavailableError } from '../api/errors.ts'
import { isoInstant } from '../support/clock.ts'
import type { ExtractOptions } from './options.ts'

/** Lets no request leave before that time. @throws UnavailableError when that is longer than the run may wait */
export function honourEarlierPause(
  options: Pick<ExtractOptions, 'notBefore' | 'clock' | 'maxWaitMs' | 'pacer' | 'logger'>,
): void {
  const { notBefore, clock, maxWaitMs, pacer, logger } = options
  const waitMs = notBefore - clock.now()
  if (waitMs <= 0) return
  if (waitMs > maxWaitMs) {
    throw new UnavailableError(
      `the service asked for no request before ${isoInstant(notBefore)}`,
      notBefore,
    )
  }
  logger.warn({ wait_ms: Math.round(waitMs), not_before: isoInstant(notBefore) }, 'waiting')
  pacer.pause(waitMs)
}
