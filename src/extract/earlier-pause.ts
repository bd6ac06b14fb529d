/** A time that the service named also holds for every later run. */

import { UnavailableError } from '../api/errors.ts'
import { isoInstant } from '../support/clock.ts'
import type { ExtractOptions } from './options.ts'

/** Lets no request leave before that time. @throws UnavailableError when that is longer than the run may wait */
export function respectStoredRetryAfter(
  options: Pick<ExtractOptions, 'notBefore' | 'clock' | 'maxWaitMs' | 'pacer' | 'logger'>,
): void {
  const { notBefore, clock, maxWaitMs, pacer, logger } = options
  const waitMs = notBefore - clock.now()
  if (waitMs <= 0) return
  if (waitMs > maxWaitMs) {
    const time = isoInstant(notBefore)
    throw new UnavailableError(`the service asked for no request before ${time}`, notBefore, {
      hint: `Run the same command again after ${time}: it continues where it stopped. Where that time is a mistake, add --forget-pause; \`jobtide doctor\` says why the service named it.`,
      context: { not_before: time },
    })
  }
  logger.warn({ wait_ms: Math.round(waitMs), not_before: isoInstant(notBefore) }, 'waiting')
  pacer.pause(waitMs)
}
