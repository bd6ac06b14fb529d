import { describe, expect, it } from 'vitest'
import { cronFault, isTimezone, lastDue, nextDue } from '../../src/plan/due.ts'

const at = (iso: string) => Date.parse(iso)
const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString().slice(0, 16))
const nightly = { cron: '15 2 * * *', timezone: 'UTC' }
const berlin = { cron: '15 2 * * *', timezone: 'Europe/Berlin' }

describe('a schedule', () => {
  it('was last due at its minute, that minute included, and is next due after it', () => {
    expect(iso(lastDue(nightly, at('2026-11-20T02:15:00Z')))).toBe('2026-11-20T02:15')
    expect(iso(lastDue(nightly, at('2026-11-20T02:15:00.999Z')))).toBe('2026-11-20T02:15')
    expect(iso(lastDue(nightly, at('2026-11-20T02:14:59.999Z')))).toBe('2026-11-19T02:15')
    expect(iso(nextDue(nightly, at('2026-11-20T02:15:00Z')))).toBe('2026-11-21T02:15')
    expect(iso(nextDue(nightly, at('2026-11-20T02:14:59.999Z')))).toBe('2026-11-20T02:15')
  })

  it('in a named zone runs once on the day that skips 02:15 and once on the day that has it twice', () => {
    const due: (string | null)[] = []
    let now: number | null = at('2026-03-28T00:00:00Z')
    while (now !== null && now < at('2026-03-31T00:00:00Z'))
      due.push(iso((now = nextDue(berlin, now))))
    expect(due).toEqual([
      '2026-03-28T01:15',
      '2026-03-29T01:00',
      '2026-03-30T00:15',
      '2026-03-31T00:15',
    ])
    expect(iso(lastDue(berlin, at('2026-03-29T12:00:00Z')))).toBe('2026-03-29T01:00')
    const autumn = [0, 1, 2, 3].map((hour) => lastDue(berlin, at(`2026-10-25T0${hour}:20:00Z`)))
    expect(new Set(autumn.map(iso))).toEqual(new Set(['2026-10-25T00:15']))
  })

  it('for every instant of a year, its last time is the latest of all earlier times', () => {
    const times: number[] = []
    for (let now = at('2026-01-01T00:00:00Z'); now < at('2027-01-01T00:00:00Z');) {
      now = nextDue(berlin, now) ?? Infinity
      times.push(now)
    }
    expect(times.length).toBeGreaterThan(364)
    for (const [index, time] of times.slice(0, -1).entries()) {
      expect(lastDue(berlin, time)).toBe(time)
      expect(lastDue(berlin, (times[index + 1] ?? 0) - 1)).toBe(time)
    }
  })

  it('that never fires has no last and no next time', () => {
    const never = { cron: '0 0 30 2 *', timezone: 'UTC' }
    expect([lastDue(never, at('2026-11-20')), nextDue(never, at('2026-11-20'))]).toEqual([
      null,
      null,
    ])
  })

  it.each([
    ['15 2 * * *', true],
    ['15 2 * *', false],
    ['0 15 2 * * *', false],
    ['61 2 * * *', false],
    ['15 2 * * mo', false],
    ['0 0 30 2 *', false],
  ])('%s is a cron time: %s', (text, expected) => expect(cronFault(text) === null).toBe(expected))

  it.each([
    ['UTC', true],
    ['Europe/Berlin', true],
    ['Mars/Olympus', false],
    ['', false],
  ])('%s is a zone: %s', (text, expected) => expect(isTimezone(text)).toBe(expected))
})
