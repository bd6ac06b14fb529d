import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { metricsText, prometheusText } from '../../src/cli/metrics.ts'
import { emptyHistory } from '../../src/journal/history.ts'
import { EXIT } from '../../src/support/errors.ts'
import { HOUR } from '../../src/support/units.ts'
import { parsePrometheus } from '../helpers/prometheus.ts'
import { addRun } from '../helpers/recorded-run.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const NOON = Date.UTC(2026, 10, 20, 12)

/** The figures of a made-up history, as Prometheus scrapes them. */
function scraped(history: ReturnType<typeof emptyHistory>, exitCode: number | null = null) {
  const freshness = { history, pipelines: [], working: null, judgements: [], nowMs: NOON }
  const root = temporaryFolder()
  const directory = {
    root,
    journal: join(root, 'journal'),
    warehouse: join(root, 'jobtide.duckdb'),
  }
  const attempts = new Map(exitCode === null ? [] : [['nightly', { exitCode, at: NOON }]])
  const found = parsePrometheus(metricsText(freshness, directory, attempts))
  return (name: string) => found.get(`jobtide_${name}`)?.samples.get('{pipeline="nightly"}')
}

describe('metrics', () => {
  it('report the last recorded end, and a later run that could not begin', () => {
    const history = emptyHistory()
    expect(scraped(history)('last_run_exit_code')).toBeUndefined()
    const end = (hoursAgo: number, exit_code: 0 | 4) => {
      const at = NOON - hoursAgo * HOUR
      const outcome = exit_code === 0 ? ('done' as const) : ('budget' as const)
      addRun(history, at - HOUR, { at, outcome, exit_code, message: null })
    }
    end(30, EXIT.done)
    end(6, EXIT.budget)
    const recorded = scraped(history)
    expect(recorded('last_run_exit_code')).toBe(4)
    expect(recorded('last_run_timestamp_seconds')).toBe((NOON - 6 * HOUR) / 1_000)
    expect(recorded('last_success_timestamp_seconds')).toBe((NOON - 30 * HOUR) / 1_000)
    expect(recorded('last_run_duration_seconds')).toBe(3_600)
    const refused = scraped(history, EXIT.usage)
    expect(refused('last_run_exit_code')).toBe(2)
    expect(refused('last_run_timestamp_seconds')).toBe(NOON / 1_000)
    expect(refused('last_success_timestamp_seconds')).toBe((NOON - 30 * HOUR) / 1_000)
  })

  it('are valid whatever a name contains; the parser of these tests refuses 8 invalid texts', () => {
    const odd = 'a"b\\c\nd{},= é'
    const good = prometheusText([
      [
        { pipeline: odd, stage: '' },
        { pages: 1.5, credits: null },
      ],
    ])
    expect(good).toBe(
      '# HELP jobtide_pages_total Pages with events.\n# TYPE jobtide_pages_total counter\n' +
        'jobtide_pages_total{pipeline="a\\"b\\\\c\\nd{},= é",stage=""} 1.5\n',
    )
    const [read] = parsePrometheus(good).values()
    expect([...(read?.samples.values() ?? [])]).toEqual([1.5])
    const bad = [
      good.trimEnd(),
      good + good,
      good.replace(' counter', ' histogram'),
      good.replaceAll('_total', ''),
      good.replace('1.5', 'NaN'),
      good.replace('\\"', '"'),
      good.replace(/^# HELP.*\n/, ''),
      good + (good.split('\n')[2] ?? '') + '\n',
    ]
    for (const text of bad) expect(() => parsePrometheus(text), text).toThrow(/line|end/)
  })
})
