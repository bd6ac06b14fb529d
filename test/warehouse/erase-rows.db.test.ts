import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  compactDatabase,
  countErasable,
  deleteErasable,
  type ErasableRows,
} from '../../src/warehouse/erase-rows.ts'
import { withWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { insertEvents } from '../helpers/warehouse.ts'

const MARKER = 'Zyxwvut-Marker-7291'

const erasable = (fields: Partial<ErasableRows>): ErasableRows => ({
  profileIds: [],
  eventsBefore: null,
  isErasedReject: () => false,
  ...fields,
})

const newPath = () => join(temporaryFolder(), 'jobtide.duckdb')
const write = <T>(path: string, work: (warehouse: Warehouse) => Promise<T>) =>
  withWarehouse({ path, mode: 'write' }, work)

describe('erasing from a warehouse', () => {
  it('keeps tables, views and macros of the user, without rows about 1 of 200 people, and no byte of them', async () => {
    const path = newPath()
    await write(path, (warehouse) =>
      warehouse.run(
        `create schema mine;
         create table mine.notes (profile_id varchar primary key, note varchar);
         comment on table mine.notes is 'By hand';
         insert into mine.notes select 'per_' || i, if(i = 7, '${MARKER}', 'note ' || i) from range(200) as r(i);
         create table mine.numbers as select 7 as profile_id, 'kept' as note;
         create schema "my.own"; create table "my.own"."a.b" as select 'per_7' as profile_id;
         create view mine.latest as from mine.notes where profile_id > 'per_5';
         create macro mine.twice(x) as 2 * x`,
      ),
    )
    const rows = erasable({ profileIds: ['per_7'] })
    expect(await write(path, (warehouse) => countErasable(warehouse, rows))).toEqual({
      'mine.notes': 1,
      'my.own.a.b': 1,
    })
    await write(path, (warehouse) => deleteErasable(warehouse, rows))
    await compactDatabase(path)
    expect(readFileSync(path).includes(MARKER)).toBe(false)
    const [left] = await write(path, (warehouse) =>
      warehouse.all(
        `select (select count(*) from mine.notes)::int as notes,
           (select count(*) from mine.latest where profile_id = 'per_7')::int as latest,
           (select count(*) from mine.numbers)::int as numbers, mine.twice(21) as twice,
           (select comment from duckdb_tables() where table_name = 'notes') as comment`,
      ),
    )
    expect(left).toEqual({ notes: 199, latest: 0, numbers: 1, twice: 42, comment: 'By hand' })
    const again = write(path, (warehouse) =>
      warehouse.run(`insert into mine.notes values ('per_8', null)`),
    )
    await expect(again).rejects.toThrow(/duplicate key/i)
  })

  it('names the table of the user that cannot be copied, and the file stays', async () => {
    const path = newPath()
    // The engine copies tables in an unpredictable order, and refuses a row before the one that it references.
    const chain = Array.from({ length: 9 }, (_, n) => {
      const parent = n === 0 ? '' : ` references t${n - 1} (id)`
      return `create table t${n} (id integer primary key${parent}); insert into t${n} values (1)`
    })
    await write(path, (warehouse) => warehouse.run(chain.join(';')))
    await expect(compactDatabase(path)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/holds a table that cannot be copied: .*foreign key/),
    })
    expect(await write(path, (warehouse) => warehouse.all('from t8'))).toEqual([{ id: 1 }])
  })

  it('removes events from before a day, and versions that are then the only one', async () => {
    const path = newPath()
    const day = (changed_at: string, detected_at = changed_at) => ({ changed_at, detected_at })
    const before = erasable({ eventsBefore: Date.UTC(2025, 0, 1) })
    await write(path, async (warehouse) => {
      await insertEvents(warehouse, [
        { event_key: 'old', ...day('2024-01-01T00:00:00Z') },
        { event_key: 'seen late', ...day('2024-01-01T00:00:00Z', '2025-06-01T00:00:00Z') },
        { event_key: 'new', ...day('2025-06-01T00:00:00Z') },
      ])
      await warehouse.run(
        `insert into job_change_event_versions by name
         select event.* exclude (attributes_seen_at, last_run_id, times_seen)
           replace (v as detected_at, v as first_seen_at), cast(v as varchar) as version_key
         from job_change_events as event,
           (values (timestamptz '2024-02-01'), (timestamptz '2025-06-01')) as versions(v)
         where event_key = 'seen late';
         update job_change_events set first_seen_at = timestamptz '2024-02-01' where event_key = 'seen late'`,
      )
      expect(await deleteErasable(warehouse, before)).toEqual({
        'main.job_change_events': 1,
        'main.job_change_event_versions': 2,
      })
      const keys = await warehouse.all(`select event_key from job_change_events
        union all select event_key from job_change_event_versions order by 1`)
      expect(keys).toEqual([{ event_key: 'new' }, { event_key: 'seen late' }])
      // As after a replay, which no longer finds the older version.
      const seen = await warehouse.all(
        `select cast(first_seen_at as varchar) as at from job_change_events where event_key = 'seen late'`,
      )
      expect(seen).toEqual([{ at: '2025-06-01 00:00:00+00' }])
    })
  })
})
