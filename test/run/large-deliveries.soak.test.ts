/** Deliveries with as many activities as a run of a signal finds, each of the maximum length: how much memory commands need. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { openInbox } from '../../src/inbox/inbox.ts'
import { realClock } from '../../src/support/clock.ts'
import { done, openSite } from '../helpers/run-cli.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import { aDelivery } from './activities-fixture.ts'

vi.setConfig({ testTimeout: 900_000 })

const DELIVERIES = 10
const ACTIVITIES = 10_000
const MOST_MB = 500
// The configured limit. A delivery of 10 MB is in memory several times while it is parsed, in addition to the engine.
const TOLD = '500MB'

it('100,000 activities in 10 deliveries are received, loaded, built, published and queried within 500 MB', async () => {
  const site = await openSite({ companies: 2 })
  const hook = join(site.folder, 'peak.cjs')
  const peakFile = join(site.folder, 'peak')
  // Without the pages of program files, which processes share and the system can reclaim.
  const script = [
    `const { readFileSync, writeFileSync } = require('node:fs')`,
    `const mapped = () => Number(/^RssFile:\\s+(\\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))[1])`,
    `const peak = () => Math.round((process.resourceUsage().maxRSS - mapped()) / 1_000)`,
    `process.on('exit', () => writeFileSync(${JSON.stringify(peakFile)}, String(peak())))`,
  ]
  writeFileSync(hook, script.join('\n'))
  const peak = () => Number(readFileSync(peakFile, 'utf8'))
  const env = { JOBTIDE_MEMORY_LIMIT: TOLD, NODE_OPTIONS: `--require ${hook}` }
  const peaks: Record<string, number> = {}

  done(await site.call(['run', site.pipeline]))

  const receiver = site.start(['listen', '--port', '0', '--json'], { env })
  onTestFinished(() => void receiver.process.kill('SIGKILL'))
  while (!receiver.stdout().includes('\n')) await pause(20)
  const { url } = JSON.parse(receiver.stdout()) as { url: string }
  for (let delivery = 0; delivery < DELIVERIES; delivery += 1) {
    const body = aDelivery(delivery, ACTIVITIES)
    expect((await fetch(url, { method: 'POST', body })).status).toBe(200)
  }
  receiver.process.kill('SIGTERM')
  done(await receiver.ended)
  peaks['listen'] = peak()

  for (const command of [
    ['load'],
    ['build'],
    ['publish'],
    [
      'query',
      'select count(*) as n, max(length(comment)) as longest from person_activities',
      '--json',
    ],
  ]) {
    const ended = done(await site.run(command, { env }))
    peaks[command[0] ?? ''] = peak()
    if (command[0] === 'query') {
      expect(JSON.parse(ended.stdout)).toMatchObject([{ n: DELIVERIES * ACTIVITIES }])
    }
  }
  expect(Object.entries(peaks).filter(([, mb]) => mb > MOST_MB)).toEqual([])
})

it('20 deliveries of 1,200 activities are loaded, built, published and counted with a limit of 512 MB, and the first without one', async () => {
  const site = await openSite({ companies: 2 })
  done(await site.call(['run', site.pipeline]))
  const inbox = openInbox(join(site.dataDir, 'inbox'), realClock)
  const deliver = (delivery: number) => inbox.keep(aDelivery(delivery, 1_200))
  const reader = await memoryWarehouse()
  onTestFinished(() => reader.close())
  const filesOf = (table: string) =>
    `'${join(site.dataDir, 'snapshots', 'tables', table, '**', '*.parquet')}'`
  const publish = async (more: { env?: Record<string, string> }) => {
    for (const stage of ['load', 'build', 'publish']) done(await site.call([stage], more))
    return reader.number(
      `select count(distinct event_id) from read_parquet(${filesOf('person_activities')})`,
    )
  }
  await deliver(0)
  expect(await publish({})).toBe(1_200)
  for (let delivery = 1; delivery < 20; delivery += 1) await deliver(delivery)
  const small = { env: { JOBTIDE_MEMORY_LIMIT: '512MB' } }
  expect(await publish(small)).toBe(20 * 1_200)
  // Writers and readers hold all bodies of a row group at once.
  const rowGroups = `select max(row_group_num_rows) from parquet_metadata(${filesOf('answers')})`
  expect(await reader.number(rowGroups)).toBe(2_048)
  const count = ['query', 'select count(*) as n from person_activities', '--json']
  expect(JSON.parse(done(await site.call(count, small)).stdout)).toEqual([{ n: 20 * 1_200 }])
})
