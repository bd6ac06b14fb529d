/** Deliveries with as many activities as a run of a signal finds, each of the maximum length. */

import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { openInbox } from '../../src/inbox/inbox.ts'
import { realClock } from '../../src/support/clock.ts'
import { done, openSite } from '../helpers/run-cli.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import { aDelivery } from './activities-fixture.ts'

vi.setConfig({ testTimeout: 120_000 })

const ACTIVITIES = 1_200

it('20 deliveries of 1,200 activities are loaded, built, published and counted with a limit of 512 MB, and the first without one', async () => {
  const site = await openSite({ companies: 2 })
  done(await site.call(['run', site.pipeline]))
  const inbox = openInbox(join(site.dataDir, 'inbox'), realClock)
  const deliver = (delivery: number) => inbox.keep(aDelivery(delivery, ACTIVITIES))
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
  expect(await publish({})).toBe(ACTIVITIES)
  for (let delivery = 1; delivery < 20; delivery += 1) await deliver(delivery)
  const small = { env: { JOBTIDE_MEMORY_LIMIT: '512MB' } }
  expect(await publish(small)).toBe(20 * ACTIVITIES)
  // Writers and readers hold all bodies of a row group at once.
  const rowGroups = `select max(row_group_num_rows) from parquet_metadata(${filesOf('answers')})`
  expect(await reader.number(rowGroups)).toBe(2_048)
  const count = ['query', 'select count(*) as n from person_activities', '--json']
  expect(JSON.parse(done(await site.call(count, small)).stdout)).toEqual([{ n: 20 * ACTIVITIES }])
})
