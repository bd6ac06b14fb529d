import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { copyWithout, countErasable, type ErasableRows } from '../../src/warehouse/erase.ts'
import { withWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { insertEvents } from '../helpers/warehouse.ts'

const MARKER = 'Zyxwvut-Marker-7291'

const people = Array.from({ length: 200 }, (_, index) => ({
  profile_id: `per_${index}`,
  person_full_name: index === 7 ? MARKER : `Person ${index}`,
  person_headline: index === 7 ? `${MARKER} headline` : null,
  title_current: index === 7 ? `${MARKER} of Things` : `Engineer ${index % 9}`,
}))

const erasable = (fields: Partial<ErasableRows> = {}): ErasableRows => ({
  profileIds: ['per_7'],
  eventsBefore: null,
  isErasedReject: (event) => event.includes('"per_7"'),
  ...fields,
})

const read = <T>(path: string, work: (warehouse: Warehouse) => Promise<T>) =>
  withWarehouse({ path, mode: 'read' }, work)
const build = (warehouse: Warehouse) =>
  buildModels(warehouse, { buildId: 'b', builtAt: new Date('2026-01-01T00:00:00Z') })

describe('copyWithout', () => {
  it('leaves 1 of 200 people out, a reject and every sample, and no byte of them; all else is copied', async () => {
    const path = join(temporaryFolder(), 'jobtide.duckdb')
    await withWarehouse({ path, mode: 'write' }, async (warehouse) => {
      await insertEvents(warehouse, people)
      await build(warehouse)
      await warehouse.run(
        `insert into ops.rejects values
           ('r', 's', 1, 'q', 1, 'title: no', '{"person":{"profile_id":"per_7"}}', now()),
           ('r', 's', 1, 'q', 2, 'title: no', '{"person":{"profile_id":"per_70"}}', now());
         insert into ops.journal_positions (segment, bytes) values ('a.journal', 7);
         insert into ops.checks values ('c', 'b', now(), 1, '[{"profile_id":"per_7"}]')`,
      )
    })
    expect(await read(path, (warehouse) => countErasable(warehouse, erasable()))).toMatchObject({
      'main.job_change_events': 1,
      'main.people': 1,
      'ops.rejects': 1,
    })
    const target = `${path}.erased`
    await copyWithout(path, target, erasable())
    expect(readFileSync(target).includes(MARKER)).toBe(false)
    await withWarehouse({ path: target, mode: 'write' }, async (warehouse) => {
      await build(warehouse)
      expect(await countErasable(warehouse, erasable())).toEqual({})
      expect(await warehouse.all('select position from ops.rejects')).toEqual([{ position: 2 }])
      expect(
        await warehouse.all('select segment, bytes::int as bytes from ops.journal_positions'),
      ).toEqual([{ segment: 'a.journal', bytes: 7 }])
      const left = 'select count(*)::int as rows from people'
      expect(await warehouse.all(left)).toEqual([{ rows: 199 }])
      const known = `select count(*)::int as rows from people_as_known_on(timestamptz '2026-01-01')`
      expect(await warehouse.all(known)).toEqual([{ rows: 199 }])
    })
  })

  it('leaves out events from before a day, and versions that are then alone', async () => {
    const path = join(temporaryFolder(), 'jobtide.duckdb')
    const day = (changed_at: string, detected_at = changed_at) => ({ changed_at, detected_at })
    await withWarehouse({ path, mode: 'write' }, async (warehouse) => {
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
    })
    const before = erasable({ profileIds: [], eventsBefore: Date.UTC(2025, 0, 1) })
    expect(await read(path, (warehouse) => countErasable(warehouse, before))).toEqual({
      'main.job_change_events': 1,
      'main.job_change_event_versions': 2,
    })
    await copyWithout(path, `${path}.erased`, before)
    const keys = await read(`${path}.erased`, (warehouse) =>
      warehouse.all(`select event_key from job_change_events
        union all select event_key from job_change_event_versions order by 1`),
    )
    expect(keys).toEqual([{ event_key: 'new' }, { event_key: 'seen late' }])
    // As a replay has it, which no longer finds the older version.
    const seen = await read(`${path}.erased`, (warehouse) =>
      warehouse.all(
        `select cast(first_seen_at as varchar) as at from job_change_events where event_key = 'seen late'`,
      ),
    )
    expect(seen).toEqual([{ at: '2025-06-01 00:00:00+00' }])
  })
})
