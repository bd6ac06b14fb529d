/** `salvage`: a journal of what the warehouse knows, where its own is gone. */

import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openJournal } from '../../src/journal/journal.ts'
import { suppress } from '../../src/load/suppression.ts'
import { realClock } from '../../src/support/clock.ts'
import { newUlid } from '../../src/support/ulid.ts'
import { withWarehouse } from '../../src/warehouse/warehouse.ts'
import { done, openSite, type Site } from '../helpers/run-cli.ts'
import { aBatch, aPage, aRequest, aStart } from '../journal/journal-fixture.ts'
import { dumpTables } from '../load/load-fixture.ts'

/** All rows of all tables but of what a journal made of them cannot say. */
async function tables(site: Site) {
  const path = join(site.dataDir, 'jobtide.duckdb')
  const dump = await withWarehouse({ path, mode: 'read' }, (warehouse) => dumpTables(warehouse))
  // Of a batch: who was asked. Of the build: when it was. Of erasures: whether the file was written again.
  for (const name of ['ops.batches', 'ops.build_state', 'ops.changed_people', 'ops.suppression'])
    delete dump[name]
  return dump
}

const removeJournal = (site: Site) => {
  for (const name of ['journal', 'journal.seals']) {
    rmSync(join(site.dataDir, name), { recursive: true, force: true })
  }
}

it('salvages a lost journal: a replay of it gives the same tables row for row, and the next night costs what the night before did', async () => {
  const site = await openSite({ companies: 12, pipelineLines: ['overlap_hours: 168'] })
  const known = site.simulator.organizations()
  // Two companies by page, so that ids are learnt.
  const list = known.map(({ organization_id: id, slug }, n) => (n < 2 ? `,${slug}` : `${id},`))
  writeFileSync(site.organizations, ['organization_id,company_url', ...list, ''].join('\n'))
  for (const days of [['--days', '300'], [], ['--days', '40'], []]) {
    done(await site.call(['extract', site.pipeline, ...days]))
  }
  const nightBefore = site.simulator.account().credits
  done(await site.call(['extract', site.pipeline]))
  const night = site.simulator.account().credits - nightBefore
  for (const command of ['load', 'build']) done(await site.call([command]))
  const before = await tables(site)
  expect(before['job_change_events']!.length).toBeGreaterThan(100)
  for (const name of [
    'job_change_event_versions',
    'ops.page_organizations',
    'ops.organization_ids',
  ]) {
    expect(before[name]!.length, name).toBeGreaterThan(0)
  }
  const coverage = await site.json('coverage', site.pipeline)
  const credits = await site.json('credits')

  const refused = await site.call(['salvage', '--yes'])
  expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('is not gone')])
  removeJournal(site)
  const plan = await site.json('salvage')
  expect(plan).toMatchObject({ is_done: false, events: before['job_change_events']!.length })
  expect(plan['unplaced']).toBeGreaterThan(0)
  expect(existsSync(join(site.dataDir, 'journal'))).toBe(false)
  expect(await site.json('salvage', '--yes')).toEqual({ ...plan, is_done: true })
  expect(readdirSync(site.dataDir).filter((name) => name.includes('salvage'))).toEqual([])

  // Nothing of it is loaded twice, and everything of it can be.
  done(await site.call(['load']))
  expect(await tables(site)).toEqual(before)
  done(await site.call(['verify']))
  done(await site.call(['replay']))
  expect(await tables(site)).toEqual(before)
  expect((await site.json('coverage', site.pipeline))['organizations']).toEqual(
    coverage['organizations'],
  )
  expect((await site.json('credits'))['credits']).toEqual(credits['credits'])
  const spent = site.simulator.account().credits
  done(await site.call(['extract', site.pipeline]))
  expect(site.simulator.account().credits - spent).toBe(night)
}, 240_000)

it('keeps 1 reject, 1 request in doubt and the month of a journal whose list of segments is left, and nobody who was erased', async () => {
  const data = [{ event_type: 'odd' }]
  const pagination = { page: 1, limit: 50, has_more: false }
  const body = { success: true, message: 'ok', data, pagination, credit_used: 10 }
  const site = await openSite({
    companies: 2,
    faults: [
      { nth: 1, status: 200, body, charged: true },
      { page: 2, reset: true, charged: true },
    ],
  })
  for (const days of ['30', '300'])
    done(await site.call(['extract', site.pipeline, '--days', days]))
  done(await site.call(['load']))
  const journal = openJournal(join(site.dataDir, 'journal'), realClock)
  const [{ profile_id: erased }] = (await site.query<{ profile_id: string }>(
    'select profile_id from job_change_events order by event_key limit 1',
  )) as [{ profile_id: string }]
  await suppress(journal, { profileIds: [erased], eventsBefore: null }, Date.now())
  const list = readFileSync(join(site.dataDir, 'suppressed.json'))
  const month = (await site.json('credits'))['credits']

  rmSync(join(site.dataDir, 'journal'), { recursive: true })
  expect((await site.call(['status'])).stderr).toContain('`jobtide salvage`')
  done(await site.call(['salvage', '--yes']))
  expect((await site.json('credits'))['credits']).toEqual(month)
  const before = await tables(site)
  expect(JSON.stringify(before)).not.toContain(erased)
  expect(before['ops.rejects']).toHaveLength(1)
  expect(
    before['ops.pages']!.filter((row) => JSON.stringify(row).includes('in_doubt')),
  ).toHaveLength(1)
  for (const segment of journal.segments()) {
    for (const frame of journal.read(segment)) {
      expect(frame.payload().includes(erased), frame.record.kind).toBe(false)
    }
  }
  done(await site.call(['load']))
  const path = join(site.dataDir, 'jobtide.duckdb')
  rmSync(path)
  done(await site.call(['load']))
  expect(await tables(site)).toEqual(before)

  rmSync(join(site.dataDir, 'suppressed.json'))
  expect((await site.call(['load'])).exitCode).toBe(9)
  rmSync(join(site.dataDir, 'journal'), { recursive: true })
  const refused = await site.call(['salvage', '--yes'])
  expect([refused.exitCode, refused.stderr]).toEqual([
    9,
    expect.stringContaining('suppressed.json'),
  ])
  writeFileSync(join(site.dataDir, 'suppressed.json'), list)
  done(await site.call(['salvage', '--yes']))
}, 240_000)

it('keeps the credits of 3 kinds of pages that were not loaded: of a listed segment, an accepted loss and one that a kill left open; also when it is stopped and called again', async () => {
  const site = await openSite({ companies: 12 })
  const extract = (...more: string[]) => site.call(['extract', site.pipeline, ...more])
  done(await extract('--days', '30'))
  done(await site.call(['load']))
  done(await extract('--days', '100'))
  const folder = join(site.dataDir, 'journal')
  const journal = openJournal(folder, realClock)
  done(await extract('--days', '200'))
  rmSync(join(folder, journal.segments().at(-1)!))
  done(await extract('--days', '300', '--accept-loss'))
  const run_id = newUlid(Date.now())
  const at = Date.now()
  const writer = journal.writer()
  await writer.append(aStart({ run_id, at }), JSON.stringify([aBatch()]))
  const about = { run_id, at, requested_at: at }
  await writer.append(aRequest(1, { run_id, at, request_id: 'open' }))
  await writer.append(aPage(1, { ...about, request_id: 'open', events: 7, credits_used: 10 }))
  const marks = () => readdirSync(site.dataDir).filter((name) => name.startsWith('journal.open.'))
  const [mark] = marks() as [string]
  const marked = readFileSync(join(site.dataDir, mark))
  const spent = async () =>
    (await site.json<{ this_month: { credits: number } }>('credits')).this_month.credits
  const before = await spent()

  rmSync(folder, { recursive: true })
  const plan = await site.json('salvage')
  expect(plan['unloaded_credits']).toBe(before - Number(plan['credits']))
  expect(before).toBe(site.simulator.account().credits + 10)
  done(await site.call(['salvage', '--yes']))
  expect([await spent(), marks()]).toEqual([before, []])
  // As if it had been killed before the mark went, and the folder with it.
  writeFileSync(join(site.dataDir, mark), marked)
  rmSync(folder, { recursive: true })
  expect((await site.json('salvage', '--yes'))['unloaded_credits']).toBe(plan['unloaded_credits'])
  expect([await spent(), marks()]).toEqual([before, []])
  for (const command of [['load'], ['verify'], ['replay']]) done(await site.call(command))
  expect(await spent()).toEqual(before)
}, 240_000)
