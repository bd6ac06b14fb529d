/** Events of many careers, made by SQL inside the warehouse: see made-events.sql. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadedTable } from '../../src/warehouse/catalog.ts'
import { noteRows } from '../../src/warehouse/changed-rows.ts'
import { columnsOfAll } from '../../src/warehouse/columns.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'

/** How much to make. */
export interface MadeEvents {
  readonly people: number
  readonly organizations: number
}

const SQL = readFileSync(join(import.meta.dirname, 'made-events.sql'), 'utf8')
const EVENTS = loadedTable('job_change_events')
const KEY = 'natural_key(profile_id, organization_id, event_type, changed_at, title_current)'
// Two steps of one person can fall on the same day of the same organisation: then neither is kept.
const withoutRepeats = `
  delete from job_change_events
  where ${KEY} in (select ${KEY} from job_change_events group by 1 having count(*) > 1)`

const seenAt = (at: string) => `
  timestamptz '${at}' as attributes_seen_at, timestamptz '${at}' as first_seen_at, timestamptz '${at}' as last_seen_at,
  'run' as first_run_id, 'run' as last_run_id, 1 as times_seen`

/** Fills `job_change_events`: nobody's last event yet. */
export async function makeEvents(warehouse: Warehouse, made: MadeEvents): Promise<void> {
  const { people, organizations } = made
  const at = '2024-12-01 02:15:00+00'
  await warehouse.run(`${SQL};
    insert into job_change_events by name
    select * exclude (p, step), ${seenAt(at)} from careers(${people}, ${organizations}) where events_of(p) > step;
    ${withoutRepeats};
    insert into ops.coverage
    select distinct organization_id, 'joined,left,title_change', cast(null as timestamptz), timestamptz '${at}'
    from job_change_events`)
}

/** A night: the next events of some people, new people, and corrections; notes whom it touches, as a load does. */
export async function makeNight(
  warehouse: Warehouse,
  { people, organizations }: MadeEvents,
  events: number,
): Promise<void> {
  const at = '2024-12-02 02:15:00+00'
  const all = people + Math.ceil(events / 40)
  const corrected = `hash(event_key) % 1000000 < ${Math.round((1_000_000 * events) / 20 / (people * 4))}`
  const columns = (await columnsOfAll(warehouse)).get(EVENTS.name) ?? []
  const note = (rows: string, change: number) =>
    noteRows(warehouse, EVENTS, columns, rows, String(change))
  await warehouse.run(`${SQL};
    create temp table touched as select event_key from job_change_events where ${corrected}`)
  await note('job_change_events semi join touched using (event_key)', -1)
  await warehouse.run(`
    create temp table new_events as select * from job_change_events limit 0;
    insert into new_events by name
    select * exclude (p, step), ${seenAt(at)} from careers(${all}, ${organizations})
    where p < ${people} and events_of(p) = step and random_of(p, 0, 15) < ${events / people}
       or p >= ${people} and events_of(p) > step;
    delete from new_events where event_key in (select event_key from job_change_events);
    insert into ops.changed_people select distinct profile_id from new_events;
    insert into ops.changed_people select distinct profile_id from job_change_events where ${corrected};
    update job_change_events set title_current = concat('Senior ', title_current), detected_at = detected_at + interval 3 day
    where ${corrected};
    insert into job_change_events select * from new_events;
    ${withoutRepeats};
    update ops.coverage set covered_to = timestamptz '${at}' where hash(organization_id) % 2 = 0`)
  await note('job_change_events semi join touched using (event_key)', 1)
  await note('job_change_events semi join new_events using (event_key)', 1)
  await warehouse.run('drop table new_events; drop table touched')
}
