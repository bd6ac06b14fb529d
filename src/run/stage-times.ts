/** Logs the stages of a run with their durations. */

import type { RunFinished } from '../journal/records.ts'
import type { Clock } from '../support/clock.ts'
import type { Logger } from '../support/logger.ts'
import { SECOND } from '../support/units.ts'

type Stages = NonNullable<RunFinished['stage_seconds']>

/** Seconds that the stages of a run took. */
export type StageSeconds = { -readonly [Stage in keyof Stages]: Stages[Stage] }

/** A stage of a run that has ended; times in milliseconds since 1970 UTC. */
export interface EndedStage {
  readonly stage: keyof StageSeconds
  readonly beganAt: number
  readonly endedAt: number
  /** The result for the log; null if it failed. */
  readonly figures: object | null
}

/** For a run, whose stages are logged and timed. */
export interface TimedParts {
  readonly world: {
    readonly clock: Clock
    readonly logger: Logger
    readonly onStage?: (stage: EndedStage) => void
  }
  readonly seconds: StageSeconds
}

/**
 * Does the work of a stage, and logs its start, its end and its figures.
 * @param figures what is said of the result; no text that was received
 */
export async function timed<T>(
  { world: { clock, logger, onStage }, seconds }: TimedParts,
  stage: keyof StageSeconds,
  work: () => Promise<T>,
  figures: (result: T) => object,
): Promise<T> {
  const beganAt = clock.monotonic()
  const took = () => Math.round(clock.monotonic() - beganAt) / SECOND
  let shown: object | null = null
  logger.info({ stage }, 'stage_began')
  try {
    const result = await work()
    shown = figures(result)
    logger.info({ stage, seconds: took(), ...shown }, 'stage_ended')
    return result
  } finally {
    seconds[stage] = took()
    const endedAt = clock.now()
    onStage?.({ stage, beganAt: endedAt - seconds[stage] * SECOND, endedAt, figures: shown })
  }
}
