/** `simulate`: serves a simulator of the service on loopback until stopped. */

import { readFileSync } from 'node:fs'
import { readEventsFile } from '../simulator/events.ts'
import type { Fault } from '../simulator/faults.ts'
import { isExampleText } from '../run/folder.ts'
import { writeOrganizationsFile } from '../simulator/events.ts'
import { startSimulator } from '../simulator/simulator.ts'
import { createWorld } from '../simulator/world.ts'
import { ConfigError, EXIT, messageOf, type ExitCode } from '../support/errors.ts'
import { countText } from '../support/numbers.ts'
import { DAY, SECOND } from '../support/units.ts'
import type { Context } from './context.ts'

export interface SimulateOptions {
  readonly port: number
  readonly key: string
  readonly seed: number
  readonly companies: number
  readonly events?: string
  readonly organizationsOut?: string
  readonly rateLimit?: number
  readonly faults?: string
}

// The made-up world reaches a month past today, so that an advanced clock still finds new events.
const WORLD_PAST_MS = 400 * DAY
const WORLD_AHEAD_MS = 31 * DAY
const SIGNALS_EACH_MS = 5 * SECOND

/**
 * A made-up world around `now` (milliseconds since 1970 UTC); the same for a whole UTC day.
 * @param pastMs how far it reaches back
 */
export function worldAround(
  now: number,
  seed: number,
  organizations: number,
  pastMs = WORLD_PAST_MS,
) {
  const today = Math.floor(now / DAY) * DAY
  const [startAt, endAt] = [today - pastMs, today + WORLD_AHEAD_MS]
  return createWorld({ seed, organizations, startAt, endAt })
}

export async function simulateCommand(
  context: Context,
  options: SimulateOptions,
): Promise<ExitCode> {
  const { clock, output, stop } = context
  const { port, key, seed, companies, events, rateLimit, faults, organizationsOut } = options
  const simulator = await startSimulator({
    source:
      events === undefined ? worldAround(clock.now(), seed, companies) : readEventsFile(events),
    clock,
    port,
    apiKeys: [key],
    ...(rateLimit && { rateLimit: { requests: rateLimit, windowMs: SECOND } }),
    ...(faults && { faults: readFaults(faults) }),
  }).catch((error: unknown) => {
    if (!(error instanceof ConfigError) || error.hint !== undefined) throw error
    throw new ConfigError(error.message, {
      hint: '--port 0 takes any free port. docs/simulator.md has an example of each fault.',
      cause: error,
    })
  })
  try {
    const organizations = simulator.organizations()
    if (organizationsOut !== undefined) {
      writeOrganizationsFile(organizationsOut, organizations, isExampleText)
    }
    const { url } = simulator
    output.report({
      title: [
        `serving ${countText(organizations.length, 'organisation')} at ${url} (stop with Ctrl-C)`,
        `  export JOBTIDE_BASE_URL=${url} JOBTIDE_API_KEY=${key}`,
        ...(organizationsOut ? [`  organisations written to ${organizationsOut}`] : []),
      ],
      values: { url, apiKey: key, organizations: organizations.length, pid: process.pid },
    })
    // The real service makes them hourly or daily, which is too long to wait here.
    while (!stop.aborted) {
      await simulator.runSignals()
      await clock.sleep(SIGNALS_EACH_MS, stop).catch(() => undefined)
    }
    const { requests, charged_pages: pages, credits } = simulator.account()
    output.note(
      `served ${countText(requests, 'request')}: ${countText(pages, 'charged page')}, ${countText(credits, 'credit')}`,
    )
    return EXIT.done
  } finally {
    await simulator.close()
  }
}

function readFaults(file: string): Fault[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Fault[]
  } catch (error) {
    throw new ConfigError(`--faults ${file}: ${messageOf(error)}`, {
      hint: 'Expected a JSON array of faults. docs/simulator.md has an example of each.',
      cause: error,
    })
  }
}
