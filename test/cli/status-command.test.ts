import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { reportText, type Report } from '../../src/cli/report.ts'
import { statusCommand } from '../../src/cli/status-command.ts'
import { DAY, HOUR } from '../../src/support/units.ts'
import { START, aBatch, finishBatch, startRun } from '../load/load-fixture.ts'
import { ledgerSite } from './ledger-fixture.ts'

/** A data directory that is also the current folder until the test ends. */
function siteHere(nowMs: number) {
  const site = ledgerSite(nowMs)
  const back = process.cwd()
  onTestFinished(() => process.chdir(back))
  process.chdir(site.folder)
  return site
}

describe('status --watch', () => {
  const look = (site: ReturnType<typeof siteHere>, canRedraw: boolean, times: number) => {
    const stop = new AbortController()
    const drawn: string[] = []
    const redraw = (report: Report) => {
      drawn.push(reportText(report, 80))
      if (drawn.length === times) stop.abort(new Error('stopped'))
    }
    const shown = site.show((context) => {
      const output = { ...context.output, canRedraw, redraw }
      const sleep = async (ms: number, signal?: AbortSignal) => {
        site.clock.nowMs += ms
        signal?.throwIfAborted()
      }
      const clock = { ...site.clock, now: () => site.clock.nowMs, sleep }
      return statusCommand({ ...context, clock, stop: stop.signal, output }, [], { watch: 2 })
    })
    return { shown, drawn }
  }

  it('redraws every 2 seconds in 80 columns until it is stopped, then exits with the code of the last judgement', async () => {
    const { shown, drawn } = look(siteHere(START), true, 3)
    expect((await shown).exitCode).toBe(10)
    expect(drawn).toHaveLength(3)
    const times = drawn.map(
      (text) => /^\d\d:\d\d:(\d\d) UTC, every 2 seconds; Ctrl-C/.exec(text)?.[1],
    )
    expect(times.map(Number)).toEqual([0, 2, 4].map((more) => Number(times[0]) + more))
    for (const line of drawn.join('\n').split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  })

  it('refuses to run without a terminal', async () => {
    const { shown, drawn } = look(siteHere(START), false, 1)
    await expect(shown).rejects.toThrow('--watch needs a terminal, and standard output is not one')
    expect(drawn).toEqual([])
  })
})

describe('status', () => {
  it('exits with 10 for a folder in which nothing ran, and says how to begin; the same for unreadable files', async () => {
    const site = siteHere(START)
    const show = () => site.show((context) => statusCommand(context, [], {}))
    expect(await show()).toMatchObject({
      exitCode: 10,
      text: expect.stringContaining('  → Try `jobtide demo`') as string,
      document: { fresh: false, judgements: [{ id: 'never_run', pipeline: null }] },
    })

    mkdirSync('pipelines')
    writeFileSync(join('pipelines', 'broken.yaml'), 'name: broken\n')
    writeFileSync('list.csv', 'organization_id\norg_1\n')
    const text = 'name: nightly\norganizations: ../list.csv\nwindow: since-last\n'
    writeFileSync(join('pipelines', 'by-hand.yaml'), text.replace('nightly', 'by-hand'))
    writeFileSync(join('pipelines', 'nightly.yaml'), `${text}schedule: "15 2 * * *"\n`)
    const { document } = await show()
    expect(document['judgements']).toMatchObject([
      { id: 'pipeline_unreadable', pipeline: 'broken' },
      { id: 'never_run', pipeline: 'nightly' },
    ])
  })

  it('judges the given pipelines by their schedule and by an age, and says what to do', async () => {
    const site = siteHere(START + 9 * HOUR)
    const batch = aBatch({ organizations: [{ by: 'id', value: 'org_1' }] })
    const at = START - 2 * DAY
    await site.journal((writer) => {
      startRun(writer, [batch], 'run_1', at)
      finishBatch(writer, batch, { from: null, to: at })
      writer.write({
        kind: 'run_finished',
        run_id: 'run_1',
        at,
        outcome: 'done',
        exit_code: 0,
        message: null,
      })
    })
    const ofFile = site.pipeline('nightly', ['org_1'], ['schedule: "15 2 * * *"'])
    const plain = site.pipeline('plain', ['org_1'])
    const show = (named: readonly string[], options: { maxAge?: number } = {}) =>
      site.show((context) => statusCommand(context, named, options))

    const missed = await show([ofFile])
    expect(missed.exitCode).toBe(10)
    expect(missed.text.split('\n').slice(-8)).toEqual([
      'due        nightly next at 2026-03-02 02:15 UTC',
      'more       jobtide coverage, jobtide credits, jobtide rejects',
      '',
      'not as fresh as it should be:',
      'nightly was due at 2026-03-01 02:15 UTC and has not run since: its last run',
      'ended at 2026-02-27 00:00 UTC',
      '  → Check what starts it (jobtide schedule, cron, a timer). `jobtide run',
      '    nightly` catches up.',
    ])
    expect(missed.document).toMatchObject({
      fresh: false,
      judgements: [
        {
          id: 'missed_schedule',
          pipeline: 'nightly',
          run_id: null,
          since: '2026-03-01T02:15:00.000Z',
        },
      ],
    })
    // There is no file with a schedule, and no age was given.
    expect(await show([])).toMatchObject({ exitCode: 0, document: { fresh: true, judgements: [] } })
    expect(await show([], { maxAge: 26 * HOUR })).toMatchObject({ exitCode: 10 })
    expect(await show([], { maxAge: 60 * HOUR })).toMatchObject({ exitCode: 0 })
    const { document } = await show([plain])
    expect(document['judgements']).toMatchObject([{ id: 'never_run', pipeline: 'plain' }])
  })

  it('distinguishes a killed run from one that continues', async () => {
    const site = siteHere(START)
    await site.journal((writer) => startRun(writer, [aBatch()]))
    const { exitCode, document, text } = await site.show((context) =>
      statusCommand(context, [], {}),
    )
    expect(exitCode).toBe(10)
    expect(text).toMatch(/^2026-03-01 00:00 +nightly +killed +0\/1/m)
    expect(text).toMatch(
      /^to fetch +1 of 1 batch of the last run of nightly; the next run asks again$/m,
    )
    expect(document['judgements']).toMatchObject([{ id: 'last_run_killed', run_id: 'run_1' }])
  })

  it('says that the folder of the newest snapshot is gone, as after restore-journal, until it is there', async () => {
    const site = siteHere(START)
    const [destination, id] = [join(site.folder, 'snapshots'), '01M7WYS17DYBNYWQ9C9WW4KG94']
    await site.journal((writer) => {
      const counts = { tables: 1, files: 1, new_files: 1, rows: 1, bytes: 1, new_bytes: 1 }
      const about = { run_id: null, snapshot_id: id, destination, at: START }
      writer.write({ kind: 'snapshot_published', ...about, ...counts })
    })
    await site.load()
    const show = () => site.show((context) => statusCommand(context, [], {}))
    expect((await show()).text.replaceAll(/\s+/g, ' ')).toContain(
      'snapshots: not there now; the next publish makes it again',
    )
    mkdirSync(join(destination, 'snapshots', id), { recursive: true })
    expect((await show()).text).not.toContain('not there now')
  })
})
