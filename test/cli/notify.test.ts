import { expect, it, vi } from 'vitest'
import { notifyAll } from '../../src/cli/notify.ts'
import { emptyHistory } from '../../src/journal/history.ts'
import { openOutbox } from '../../src/observe/outbox.ts'
import type { Judgement, JudgementId } from '../../src/plan/judge.ts'
import { readFreshness, type Freshness } from '../../src/run/pipelines.ts'
import { dataDirectory } from '../../src/run/data-directory.ts'
import { EXIT } from '../../src/support/errors.ts'
import { DAY } from '../../src/support/units.ts'
import { disk, useFaultyDisk } from '../helpers/faulty-disk.ts'
import { addRun } from '../helpers/recorded-run.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { startWebhook } from '../helpers/webhook.ts'
import { ledgerSite } from './ledger-fixture.ts'

useFaultyDisk()

const NOW = Date.UTC(2026, 10, 24)

/** A pipeline with a webhook, and its notifications. */
async function aPipeline() {
  const hook = await startWebhook()
  const site = ledgerSite(NOW)
  const line = `notify: { webhook: { url: "${hook.url}" } }`
  const named = [site.pipeline('nightly', ['org_1'], [line])]
  const directory = dataDirectory(site.folder)
  const fresh = await readFreshness({ directory, clock: site.clock, named, maxAgeMs: null })
  const notify = (freshness: Freshness) =>
    site.show(async (context) => {
      await notifyAll(context, freshness)
      return EXIT.done
    })
  return { hook, fresh, notify }
}

it('sends two messages once each in 3 attempts on a full disk, and never again once there is space, even from another process', async () => {
  const { hook, fresh, notify } = await aPipeline()
  const wrong = (id: JudgementId): Judgement => {
    return { id, pipeline: 'nightly', message: id, hint: 'fix it', runId: null, since: NOW }
  }
  const freshness = { ...fresh, judgements: [wrong('missed_schedule'), wrong('coverage_gaps')] }
  const look = () => notify(freshness)
  const told = () => hook.got.map(({ body }) => body['text'])

  disk.roomBytes = 0
  for (let looks = 0; looks < 3; looks += 1) await look()
  expect(told()).toEqual(['missed_schedule', 'coverage_gaps'])
  disk.heal()
  await look()
  // From here on the process no longer remembers what it recorded, as if it were another one.
  await look()
  expect(told()).toEqual(['missed_schedule', 'coverage_gaps'])
})

it('leaves a message that a full disk refused to the process that has written and sent it since', async () => {
  const folder = temporaryFolder()
  const about = { pipeline: 'nightly', text: 'late', hint: null, runId: null, at: NOW }
  const message = { key: 'late', kind: 'stale', ...about } as const
  const mine = openOutbox(folder, () => undefined)
  disk.roomBytes = 0
  mine.offer(message)
  expect(mine.pending()).toEqual([message])
  disk.heal()
  // The same code without the memory of this process.
  vi.resetModules()
  const another = await import('../../src/observe/outbox.ts')
  const others = another.openOutbox(folder, () => undefined)
  others.offer(message)
  others.sent(message, NOW)
  expect(mine.pending()).toEqual([])
  expect(openOutbox(folder, () => undefined).pending()).toEqual([])
})

it('says when a pipeline that was due and could not run is tried again', async () => {
  const { hook, fresh, notify } = await aPipeline()
  const history = emptyHistory()
  const end = { at: NOW - 2 * DAY, outcome: 'done', exit_code: EXIT.done, message: null } as const
  addRun(history, NOW - 2 * DAY, end)
  const schedule = { cron: '15 2 * * *', timezone: 'UTC' }
  const pipelines = fresh.pipelines.map((one) => ({ ...one, schedule, problem: 'no list' }))
  await notify({ ...fresh, history, pipelines })
  expect(hook.got.map(({ body }) => body)).toMatchObject([
    {
      text: 'nightly was due and could not run: no list',
      // The interval at which a schedule reads its files.
      hint: expect.stringContaining('`jobtide schedule` runs it within ten minutes') as string,
    },
  ])
})
