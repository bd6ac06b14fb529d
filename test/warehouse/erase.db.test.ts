import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { countRows, eraseRows, rewriteWarehouse, type Erased } from '../../src/warehouse/erase.ts'
import { openWarehouse, withWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { insertEvents, memoryWarehouse } from '../helpers/warehouse.ts'

const MARKER = 'Zyxwvut-Marker-7291'

const people = Array.from({ length: 200 }, (_, index) => ({
  profile_id: `per_${index}`,
  person_full_name: index === 7 ? MARKER : `Person ${index}`,
  person_headline: index === 7 ? `${MARKER} headline` : null,
  title_current: index === 7 ? `${MARKER} of Things` : `Engineer ${index % 9}`,
}))

const erased = (fields: Partial<Erased> = {}): Erased => ({
  profileIds: ['per_7'],
  eventsBefore: null,
  isErasedReject: (event) => event.includes('"per_7"'),
  ...fields,
})

async function fill(warehouse: Warehouse): Promise<void> {
  await insertEvents(warehouse, people)
  await warehouse.run(
    `insert into ops.rejects values
       ('r', 's', 1, 'q', 1, 'title: no', '{"person":{"profile_id":"per_7"}}', now()),
       ('r', 's', 1, 'q', 2, 'title: no', '{"person":{"profile_id":"per_70"}}', now());
     insert into ops.changed_people values ('per_7'), ('per_8');
     insert into ops.checks values ('c', 'b', now(), 1, '[{"profile_id":"per_7"}]')`,
  )
}

const build = (warehouse: Warehouse) =>
  buildModels(warehouse, { buildId: 'b', builtAt: new Date('2026-01-01T00:00:00Z') })

async function tablesOf(warehouse: Warehouse): Promise<Record<string, unknown>> {
  const names = await warehouse.all<{ name: string }>(
    `select schema_name || '.' || table_name as name from duckdb_tables() where not temporary order by 1`,
  )
  const tables: Record<string, unknown> = {}
  for (const { name } of names) {
    tables[name] = (await warehouse.table(`select * from ${name} order by all`)).rows
  }
  return tables
}

describe('eraseRows', () => {
  it('deletes 1 of 200 people from every table that names people, a reject and every sample', async () => {
    const warehouse = await memoryWarehouse()
    await fill(warehouse)
    await build(warehouse)
    await warehouse.run(`insert into ops.changed_people values ('per_7')`)
    const counted = await countRows(warehouse, erased())
    expect(counted).toMatchObject({
      job_change_events: 1,
      people: 1,
      joiners: 1,
      'ops.rejects': 1,
      'ops.changed_people': 1,
    })
    expect(await eraseRows(warehouse, erased())).toEqual(counted)
    expect(await countRows(warehouse, erased())).toEqual({})
    expect(await warehouse.all('select position from ops.rejects')).toEqual([{ position: 2 }])
    expect(await warehouse.all('select sample from ops.checks where sample is not null')).toEqual(
      [],
    )
    expect((await build(warehouse)).fullRefreshReason).toBe(
      'there is no earlier build to go on from',
    )
    expect(
      JSON.stringify(await tablesOf(warehouse), (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      ),
    ).not.toContain(MARKER)
    expect(await warehouse.all('select count(*)::int as people from people')).toEqual([
      { people: 199 },
    ])
    warehouse.close()
  })

  it('deletes events from before a day, and versions that are then alone', async () => {
    const warehouse = await memoryWarehouse()
    const day = (text: string) => ({ changed_at: text, detected_at: text })
    await insertEvents(warehouse, [
      { event_key: 'old', ...day('2024-01-01T00:00:00Z') },
      {
        event_key: 'seen late',
        changed_at: '2024-01-01T00:00:00Z',
        detected_at: '2025-06-01T00:00:00Z',
      },
      { event_key: 'new', ...day('2025-06-01T00:00:00Z') },
    ])
    await warehouse.run(
      `insert into job_change_event_versions by name
       select event.* exclude (attributes_seen_at, last_run_id, times_seen) replace (v as detected_at), cast(v as varchar) as version_key
       from job_change_events as event,
         (values (timestamptz '2024-02-01'), (timestamptz '2025-06-01')) as versions(v)
       where event_key = 'seen late'`,
    )
    const before = erased({ profileIds: [], eventsBefore: new Date('2025-01-01T00:00:00Z') })
    expect(await eraseRows(warehouse, before)).toEqual({
      job_change_events: 1,
      job_change_event_versions: 2,
    })
    expect(await warehouse.all('select event_key from job_change_events order by 1')).toEqual([
      { event_key: 'new' },
      { event_key: 'seen late' },
    ])
    warehouse.close()
  })
})

describe('rewriteWarehouse', () => {
  it('leaves no byte of what was deleted in the file, and everything else as it was', async () => {
    const path = join(temporaryFolder(), 'jobtide.duckdb')
    const before = await withWarehouse({ path, mode: 'write' }, async (warehouse) => {
      await fill(warehouse)
      await build(warehouse)
      await warehouse.run('checkpoint')
      await eraseRows(warehouse, erased())
      await build(warehouse)
      return tablesOf(warehouse)
    })
    // A delete alone leaves the bytes; else this test would prove nothing.
    expect(readFileSync(path).includes(MARKER)).toBe(true)
    await rewriteWarehouse(path)
    expect(readFileSync(path).includes(MARKER)).toBe(false)
    expect(statSync(`${path}.wal`, { throwIfNoEntry: false })).toBeUndefined()
    await withWarehouse({ path, mode: 'write' }, async (warehouse) => {
      expect(await tablesOf(warehouse)).toEqual(before)
      // The next night goes on from it: views, macros, comments and marks of the build are there.
      expect((await build(warehouse)).fullRefreshReason).toBeNull()
      expect(
        await warehouse.all(
          `select comment from duckdb_tables() where comment is null and schema_name in ('main', 'ops')`,
        ),
      ).toEqual([])
      const known = `select count(*)::int as people from people_as_known_on(timestamptz '2026-01-01')`
      expect(await warehouse.all(known)).toEqual([{ people: 199 }])
    })
  })

  it('keeps the old file when another program has it open, and clears away what a killed process left', async () => {
    const path = join(temporaryFolder(), 'jobtide.duckdb')
    await withWarehouse({ path, mode: 'write' }, fill)
    writeFileSync(`${path}.rewritten`, 'half a file')
    await rewriteWarehouse(path)
    const warehouse = await openWarehouse({ path, mode: 'read' })
    expect(await warehouse.all('select count(*)::int as events from job_change_events')).toEqual([
      { events: 200 },
    ])
    warehouse.close()
    expect(statSync(`${path}.rewritten`, { throwIfNoEntry: false })).toBeUndefined()
  })
})
