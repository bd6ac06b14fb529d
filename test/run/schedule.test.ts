import { describe, expect, it, onTestFinished } from 'vitest'
import { serveHealth } from '../../src/cli/schedule-command.ts'
import { emptyHistory } from '../../src/journal/history.ts'
import type { RunOutcome } from '../../src/journal/records.ts'
import type { KnownPipeline } from '../../src/run/pipelines.ts'
import { keepSchedule } from '../../src/run/schedule.ts'
import { EXIT } from '../../src/support/errors.ts'
import { silentLogger } from '../../src/support/logger.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/support/units.ts'
import { addRun } from '../helpers/recorded-run.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'

const NOON = Date.UTC(2026, 10, 20, 12)

const BROKEN: KnownPipeline = {
  name: 'nightly',
  argument: 'pipelines/nightly.yaml',
  schedule: null,
  wanted: null,
  problem: 'it is no YAML',
  isExpected: false,
  job: null,
  notify: null,
}

/** A schedule of `nightly` over a made-up journal; each run takes ten minutes and ends as `outcome` says. */
function scheduleAt(startMs: number) {
  const clock = virtualClock(startMs)
  const history = emptyHistory()
  const schedule = { cron: '15 2 * * *', timezone: 'UTC' }
  const pipeline: KnownPipeline = { ...BROKEN, schedule, problem: null, isExpected: true }
  const site = {
    clock,
    began: [] as string[],
    /** Milliseconds from the full minute to the beginning of each run. */
    late: [] as number[],
    /** How a run ends; null for one that is killed. */
    outcome: 'done' as RunOutcome | null,
    looks: 0,
    /** Turns that were given back. */
    turns: 0,
    fails: false,
    /** Until then its file cannot be read. */
    brokenUntil: 0,
    /** Between these its file is missing. */
    away: [0, 0] as readonly [number, number],
    working: null as { pipeline: string | null } | null,
    /** Whether a schedule of another process has the turn. */
    isOthersTurn: false,
    /** Called when this schedule takes the turn. */
    onTurn: () => undefined as void,
    /** Records a run; null for one that did not end. */
    note(at: number, outcome: RunOutcome | null) {
      const exit_code = outcome === 'done' ? EXIT.done : EXIT.unavailable
      addRun(history, at, outcome && { at: at + 10 * MINUTE, outcome, exit_code, message: null })
    },
    /** Runs the schedule for this long. */
    async keep(ms: number) {
      const stop = new AbortController()
      const kept = keepSchedule({
        clock,
        logger: silentLogger,
        stop: stop.signal,
        look: () => {
          site.looks += 1
          if (site.fails) throw new Error('no disk')
          const nowMs = clock.now()
          const isAway = nowMs >= site.away[0] && nowMs < site.away[1]
          const file = nowMs < site.brokenUntil ? BROKEN : pipeline
          return Promise.resolve({
            history,
            pipelines: isAway ? [] : [file],
            working: site.working,
            judgements: [],
            nowMs,
          })
        },
        takeTurn: () => {
          if (site.isOthersTurn) return Promise.resolve(null)
          site.onTurn()
          return Promise.resolve({ release: () => void (site.turns += 1) })
        },
        run: async () => {
          const at = clock.now()
          site.late.push(at % MINUTE)
          site.began.push(new Date(at).toISOString().slice(5, 16))
          await clock.sleep(10 * MINUTE)
          site.note(at, site.outcome)
          return site.outcome === null ? 'killed' : 'ended'
        },
      })
      await clock.advance(ms)
      stop.abort(new Error('stopped'))
      await clock.run(kept)
    },
  }
  return site
}

describe('a schedule', () => {
  it('runs once a night for 10 nights, at the second of its time, and waits with the first run', async () => {
    const site = scheduleAt(NOON)
    await site.keep(10 * DAY)
    expect(site.began).toHaveLength(10)
    expect(site.began[0]).toBe('11-21T02:15')
    expect(site.began.every((at) => at.endsWith('T02:15'))).toBe(true)
    expect(Math.max(...site.late)).toBeLessThan(SECOND)
    // It checks every ten minutes, not at every tick.
    expect(site.looks).toBeLessThan(10 * 24 * 7)
  })

  it('runs a failed night once, and the next night again', async () => {
    const site = scheduleAt(NOON)
    site.outcome = 'unavailable'
    await site.keep(3 * DAY)
    expect(site.began).toHaveLength(3)
  })

  it('catches up one run, however many were missed; a run by hand counts', async () => {
    const site = scheduleAt(NOON)
    site.note(NOON - 5 * DAY, 'done')
    await site.keep(HOUR)
    expect(site.began).toEqual(['11-20T12:00'])
    const byHand = scheduleAt(NOON)
    byHand.note(NOON - HOUR, 'done')
    await byHand.keep(HOUR)
    expect(byHand.began).toEqual([])
  })

  it('resumes a killed or stopped run once, but not one that another process works on', async () => {
    for (const outcome of [null, 'interrupted'] as const) {
      const site = scheduleAt(NOON)
      site.note(NOON - HOUR, outcome)
      site.outcome = 'interrupted'
      await site.keep(3 * HOUR)
      expect(site.began).toEqual(['11-20T12:00'])
    }
    const other = scheduleAt(NOON)
    other.note(NOON - HOUR, null)
    other.working = { pipeline: 'nightly' }
    await other.keep(3 * HOUR)
    expect(other.began).toEqual([])
  })

  it('resumes a killed run once, 10 minutes after it ended, and then waits for its next time', async () => {
    const site = scheduleAt(NOON)
    site.outcome = null
    await site.keep(2 * DAY)
    expect(site.began).toEqual(['11-21T02:15', '11-21T02:35', '11-22T02:15', '11-22T02:35'])
    const fixed = scheduleAt(NOON)
    fixed.outcome = null
    await fixed.keep(14.25 * HOUR + 15 * MINUTE)
    fixed.note(NOON + 14.5 * HOUR, 'done')
    await fixed.keep(HOUR)
    expect(fixed.began).toEqual(['11-21T02:15'])
  })

  it('notices within a minute that the machine slept through a due time, and runs nothing twice when the clock is set back', async () => {
    const site = scheduleAt(NOON)
    site.note(NOON - 9 * HOUR, 'done')
    const kept = site.keep(2 * HOUR)
    site.clock.jump(20 * HOUR)
    await kept
    expect(site.began).toEqual(['11-21T08:01'])
    const back = site.keep(HOUR)
    site.clock.jump(-8 * HOUR)
    await back
    expect(site.began).toHaveLength(1)
  })

  it('runs a pipeline within ten minutes that was due while its file could not be read', async () => {
    const site = scheduleAt(NOON)
    site.note(NOON - 9 * HOUR, 'done')
    site.brokenUntil = NOON + 14 * HOUR + 17 * MINUTE
    await site.keep(DAY)
    expect(site.began).toEqual(['11-21T02:20'])
  })

  it('runs a pipeline within ten minutes that was due while its file was missing, for 5 minutes or for 3 hours', async () => {
    for (const minutes of [5, 180]) {
      const site = scheduleAt(NOON)
      site.note(NOON - 9 * HOUR, 'done')
      const due = NOON + 14 * HOUR + 15 * MINUTE
      site.away = [due - 2 * MINUTE, due - 2 * MINUTE + minutes * MINUTE]
      await site.keep(DAY)
      expect(site.began).toEqual([minutes === 5 ? '11-21T02:25' : '11-21T05:15'])
    }
  })

  it('runs at its next times after a run whose clock was 10 days ahead', async () => {
    const site = scheduleAt(NOON)
    site.note(NOON + 10 * DAY, 'done')
    await site.keep(3 * DAY)
    expect(site.began.slice(0, 2)).toEqual(['11-21T02:15', '11-22T02:15'])
  })

  it('runs nothing that another schedule ran in its turn, and what that one left once it is its own', async () => {
    for (const ran of [true, false]) {
      const site = scheduleAt(NOON)
      site.note(NOON - 9 * HOUR, 'done')
      site.isOthersTurn = true
      await site.keep(14.5 * HOUR)
      expect(site.began).toEqual([])
      if (ran) site.note(NOON + 14.25 * HOUR, 'done')
      site.isOthersTurn = false
      await site.keep(HOUR)
      expect(site.began).toEqual(ran ? [] : ['11-21T02:30'])
    }
  })

  it('looks again in its turn, and gives the turn back after each run', async () => {
    const site = scheduleAt(NOON)
    site.note(NOON - 9 * HOUR, 'done')
    site.onTurn = () => site.note(NOON + 14 * HOUR + 5 * MINUTE, 'done')
    await site.keep(15 * HOUR)
    expect(site.began).toEqual([])
    site.onTurn = () => undefined
    await site.keep(2 * DAY)
    expect(site.began).toEqual(['11-22T02:15', '11-23T02:15'])
    expect(site.turns).toBe(3)
  })

  it('continues after a failed check', async () => {
    const site = scheduleAt(NOON)
    site.fails = true
    await site.keep(HOUR)
    site.fails = false
    await site.keep(DAY)
    expect(site.began).toEqual(['11-21T02:15'])
  })
})

describe('the health endpoint', () => {
  it('answers 404 on unknown paths, and refuses a port that is in use by its number', async () => {
    const first = await serveHealth(0, { '/live': () => Promise.resolve(Response.json({})) })
    onTestFinished(() => first.close())
    const answer = await fetch(first.url)
    expect([answer.status, await answer.json()]).toEqual([404, { error: 'GET /live' }])
    const { port } = new URL(first.url)
    const second = serveHealth(Number(port), {})
    await expect(second).rejects.toThrow(
      new RegExp(`^127\\.0\\.0\\.1 port ${port}: in use by another program`),
    )
    await expect(second).rejects.toMatchObject({ exitCode: EXIT.usage })
  })
})
