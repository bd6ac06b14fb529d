/** Builders for simulator tests: events with defaults, a clock that stands still, and one-line requests. */

import { request } from 'undici'
import { onTestFinished } from 'vitest'
import { sourceOf, type EventSource, type JobChangeEvent } from '../../src/simulator/events.ts'
import { startSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import type { Clock } from '../../src/support/clock.ts'
import { DAY } from '../../src/support/units.ts'

export const NOW = Date.UTC(2026, 5, 15, 12)
export const PATH = '/api/v1/job-changes/search'

/** A clock that stands still until it is set. */
export function standingClock(nowMs = NOW): Clock & { nowMs: number } {
  const clock = {
    nowMs,
    now: () => clock.nowMs,
    monotonic: () => clock.nowMs,
    sleep: () => Promise.resolve(),
  }
  return clock
}

export interface EventChoices {
  person?: string
  organization?: string
  slug?: string | null
  type?: JobChangeEvent['event_type']
  /** Days before NOW that the event was detected. */
  detectedDaysAgo?: number
  detectedAt?: number
  lagDays?: number
  title?: string
}

export function anEvent(choices: EventChoices = {}): JobChangeEvent {
  const { person = 'per_1', organization = 'org_a', lagDays = 3, title = 'Engineer' } = choices
  const slug = choices.slug === undefined ? organization.replace('org_', 'company-') : choices.slug
  const detectedAt = choices.detectedAt ?? NOW - (choices.detectedDaysAgo ?? 1) * DAY
  return {
    event_type: choices.type ?? 'joined',
    detected_at: new Date(detectedAt).toISOString(),
    changed_at: new Date(detectedAt - lagDays * DAY).toISOString(),
    detection_lag_days: lagDays,
    title: { current: title, previous: null },
    person: {
      profile_id: person,
      handle: null,
      full_name: 'Zoë Müller',
      first_name: 'Zoë',
      last_name: 'Müller',
      headline: null,
      network_url: null,
    },
    organization: {
      organization_id: organization,
      name: `Company ${organization}`,
      slug,
      network_url: slug === null ? null : `https://network.example/company/${slug}`,
    },
  }
}

/** `count` events of one organisation, per_1 freshest. */
export function manyEvents(count: number, choices: EventChoices = {}): JobChangeEvent[] {
  return Array.from({ length: count }, (_, i) =>
    anEvent({ ...choices, person: `per_${i + 1}`, lagDays: i }),
  )
}

/** The events of a source or a found page, freshest first. */
export function eventsIn({ events }: Pick<EventSource, 'events'>): JobChangeEvent[] {
  return events.map(({ json }) => JSON.parse(json) as JobChangeEvent)
}

export interface TestAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: {
    success: boolean
    message: string
    data: JobChangeEvent[]
    pagination: { page: number; limit: number; has_more: boolean }
    credit_used: number
  }
  text: string
}

export type TestSimulator = Awaited<ReturnType<typeof simulate>>

type Method = 'GET' | 'POST' | 'PUT'

/** A simulator of `events` that stops with the test. */
export async function simulate(
  events: readonly JobChangeEvent[] | EventSource,
  options: Partial<SimulatorOptions> = {},
) {
  const clock = standingClock()
  const source = 'organizations' in events ? events : sourceOf(events)
  const simulator = await startSimulator({ source, clock, ...options })
  onTestFinished(() => simulator.close())

  async function ask(
    method: Method,
    path: string,
    headers: Record<string, string>,
    body?: string,
  ): Promise<TestAnswer> {
    const answer = await request(simulator.url + path, { method, headers, body: body ?? null })
    const text = await answer.body.text()
    return {
      status: answer.statusCode,
      headers: answer.headers,
      text,
      body: JSON.parse(text) as TestAnswer['body'],
    }
  }
  const key = { authorization: 'Bearer simulator-key' }
  const json = { 'content-type': 'application/json' }
  return {
    ...simulator,
    clock,
    post: (parameters: unknown, headers: Record<string, string> = key) =>
      ask(
        'POST',
        PATH,
        { ...json, ...headers },
        typeof parameters === 'string' ? parameters : JSON.stringify(parameters),
      ),
    send: (method: Method, path: string, body?: string) =>
      ask(method, path, { ...json, ...key }, body),
  }
}

export function peopleOf(answer: TestAnswer): string[] {
  return answer.body.data.map((event) => event.person.profile_id)
}
