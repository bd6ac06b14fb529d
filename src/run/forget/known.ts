/** What a data directory knows about people: for an erasure, and, all of it about one, for a subject access request. */

import { existsSync } from 'node:fs'
import { openJournal } from '../../journal/journal.ts'
import { eventsOn, partsNaming } from '../../load/remove-suppressed.ts'
import { peopleIn, readSuppression } from '../../load/suppression.ts'
import { isoInstant } from '../../support/clock.ts'
import { ConfigError } from '../../support/errors.ts'
import { SIGNAL_DELIVERY, nameInTier } from '../../warehouse/catalog.ts'
import { defineMacros, relationsOf, tablesOf } from '../../warehouse/erase-rows.ts'
import { asObjects } from '../../warehouse/rows.ts'
import { withWarehouse, type Warehouse } from '../../warehouse/warehouse.ts'
import type { DataDirectory } from '../data-directory.ts'
import type { RunWorld } from '../stages.ts'
import type { Marker } from './pending.ts'
import { namingOf } from './search.ts'

// Shorter ones stand in everything.
const SHORTEST_BYTES = 6

const OWN_COLUMNS =
  'person_handle, person_full_name, person_headline, person_network_url, title_current, title_previous'
const ALL_COLUMNS = `profile_id, ${OWN_COLUMNS}, person_first_name, person_last_name, organization_id, organization_name, organization_slug, organization_network_url`

export type Known = Awaited<ReturnType<typeof knownOf>>

/** What a data directory knows about people. */
export async function knownOf(warehouse: Warehouse, profileIds: readonly string[]) {
  const addresses = profileIds.filter((id) => /[/@]/.test(id))
  const destinations = await knownDestinations(warehouse)
  if (profileIds.length === 0) return { markers: [], notHere: [], pages: [], destinations }
  const notHere = await unknownAmong(warehouse, profileIds)
  const markers = await markersOf(warehouse, profileIds, new Set(notHere))
  const pages = [...addresses, ...(await pagesOf(warehouse, profileIds))]
  return {
    markers,
    /** The ids without any event, reject or answer: of people erased before, or never here. */
    notHere,
    /** Pages and handles of the people; an id that is an address, of a page or of mail, is one. */
    pages,
    destinations,
  }
}

export async function knownDestinations(warehouse: Warehouse): Promise<string[]> {
  const rows = await warehouse.all<{ destination: string }>(
    'select distinct destination from ops.snapshots order by 1',
  )
  return rows.map(({ destination }) => destination)
}

/** Does `work` with the warehouse of a data directory, to be read as it is; with an empty one where there is none yet. */
export async function readingIn<T>(
  { warehouse: file }: Pick<DataDirectory, 'warehouse'>,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const [path, mode] = existsSync(file)
    ? ([file, 'read'] as const)
    : ([':memory:', 'write'] as const)
  return withWarehouse({ path, mode }, async (warehouse) => {
    // Version 0.11 had no answers.
    if ((await tablesOf(warehouse)).every(({ name }) => name !== 'main.answers')) {
      await warehouse.run(
        'create temp table answers (request_id varchar, subject varchar, endpoint varchar, body varchar)',
      )
    }
    return work(warehouse)
  })
}

async function unknownAmong(warehouse: Warehouse, profileIds: readonly string[]) {
  const rows = await warehouse.all<{ id: string }>(
    `with named as materialized (select distinct unnest(from_json($1, '["varchar"]')) as id)
    select id from named
    where not exists (from job_change_events where profile_id = id)
      and not exists (from ops.rejects where contains(event, id))
      and not exists (from answers where contains(body, id) or contains(subject, id))
    order by id`,
    [JSON.stringify(profileIds)],
  )
  return rows.map(({ id }) => id)
}

async function pagesOf(warehouse: Warehouse, profileIds: readonly string[]): Promise<string[]> {
  const rows = await warehouse.all<{ page: string }>(
    `select distinct unnest([person_handle, person_network_url]) as page
     from (
       select profile_id, person_handle, person_network_url from job_change_events
       union all
       select profile_id, person_handle, person_network_url from job_change_event_versions)
     where profile_id in (select unnest(from_json($1, '["varchar"]')))`,
    [JSON.stringify(profileIds)],
  )
  return rows.flatMap(({ page }) => (page === null || page === '' ? [] : page))
}

/**
 * The ids of people, and texts about them of 6 bytes or more that occur neither in texts about others, the names of pipelines
 * nor in the descriptions of tables. A text there that no event has as an id is not an id, so it is not searched for.
 * @param unknown the ids that are not here
 */
export async function markersOf(
  warehouse: Warehouse,
  profileIds: readonly string[],
  unknown: ReadonlySet<string>,
): Promise<Marker[]> {
  // A join of texts and candidates instead of `exists` keeps only the candidates in memory.
  const rows = await warehouse.all<{ text: string; is_id: boolean; is_shared: boolean }>(
    `with
      erased as materialized (select unnest(from_json($1, '["varchar"]')) as profile_id),
      events as (
        from job_change_events select profile_id in (from erased) as is_theirs, ${ALL_COLUMNS}
        union all by name
        from job_change_event_versions select profile_id in (from erased) as is_theirs, ${ALL_COLUMNS}),
      candidates as (
        select distinct text from (select unnest([${OWN_COLUMNS}]) as text from events where is_theirs)
        where strlen(text) >= ${SHORTEST_BYTES}
        union
        from erased),
      others as (
        select unnest([${ALL_COLUMNS}]) as text from events where not is_theirs
        union all select organization_id from ops.coverage
        union all select pipeline from ops.runs
        union all select comment from duckdb_columns() where not internal
        union all select comment from duckdb_tables()
        union all select sql from duckdb_views() where not internal
        union all select macro_definition from duckdb_functions() where not internal),
      shared as (
        select distinct candidates.text
        from others inner join candidates on contains(others.text, candidates.text))
    select text, text in (from erased) as is_id, text in (from shared) as is_shared
    from candidates order by text`,
    [JSON.stringify(profileIds)],
  )
  return rows
    .filter(({ text, is_id, is_shared }) => !is_shared || (is_id && !unknown.has(text)))
    .map(({ text, is_shared }) => ({
      text,
      is_unique: !is_shared && Buffer.byteLength(text) >= SHORTEST_BYTES,
    }))
}

/**
 * Refuses what is not the `profile_id` of a person and would seem not to be here: the page of a person whose job changes
 * have an id, and an organisation, which every file names, so that its erasure would never be complete.
 * @throws ConfigError that names the ids
 */
export async function refuseNoPeople(
  directory: Pick<DataDirectory, 'warehouse'>,
  profileIds: readonly string[],
): Promise<void> {
  await readingIn(directory, async (warehouse) => {
    await refusePages(warehouse, profileIds)
    const [organization] = await warehouse.all<{ id: string }>(
      `select id from (select unnest(from_json($1, '["varchar"]')) as id)
       where (id in (select organization_id from job_change_events)
           or id in (select organization_id from ops.coverage))
         and id not in (select profile_id from job_change_events)
       limit 1`,
      [JSON.stringify(profileIds)],
    )
    if (organization === undefined) return
    throw new ConfigError(`${organization.id} is an organisation, not a person`, {
      hint: 'Name people by their profile_id. To stop following an organisation, delete its line from the list. Nothing was changed.',
    })
  })
}

/** Those that are, in every character, the `profile_id` of an event. */
export function peopleAmong(
  directory: Pick<DataDirectory, 'warehouse'>,
  ids: readonly string[],
): Promise<string[]> {
  return readingIn(directory, async (warehouse) => {
    const rows = await warehouse.all<{ profile_id: string }>(
      `select distinct profile_id from job_change_events
       where profile_id in (select unnest(from_json($1, '["varchar"]')))`,
      [JSON.stringify(ids)],
    )
    return rows.map((row) => row.profile_id)
  })
}

async function refusePages(warehouse: Warehouse, profileIds: readonly string[]): Promise<void> {
  const addresses = profileIds.filter((id) => id.includes('/'))
  if (addresses.length === 0) return
  await defineMacros(warehouse)
  const found = await warehouse.all<{ address: string; ids: string[] }>(
    `with named as (select unnest(from_json($1, '["varchar"]')) as address)
     select address, list(distinct profile_id order by profile_id) as ids
     from job_change_events inner join named on page_name(person_network_url) = page_name(address)
     group by address
     having not list_has_all(from_json($2, '["varchar"]'), ids)
     order by address`,
    [JSON.stringify(addresses), JSON.stringify(profileIds)],
  )
  const [first] = found
  if (first === undefined) return
  const ids = [...new Set(found.flatMap((one) => one.ids))].join(' ')
  throw new ConfigError(`${first.address} is the page of ${first.ids.join(' and ')}`, {
    hint: `Name people in job changes by their profile_id: ${ids}. Nothing was changed.`,
  })
}

type Row = Readonly<Record<string, unknown>>

const SOURCES = [
  'Events come from the job-change service that the pipelines ask; `events_as_sent` holds each as it was received.',
  'Everything in `tables` was made of these events and answers. ops.coverage says which organisations were asked for, and for what time: what was not asked for is not known.',
  'Answers of other endpoints and deliveries of signals come from the same service; `answers_as_sent` holds what of each names the person.',
  'Snapshots in `published_to` hold rows of these tables, older ones as they were then.',
]

const BY_ID =
  'People go by their profile_id: find it with `jobtide query "from people where person_full_name = …"`.'

/**
 * Gathers everything, under the names of data; exact numbers are texts. Rows about others that name the person, such as
 * a successor, are left out.
 * @throws ConfigError when nothing is known of them
 * @throws JournalLossError when a part of the journal is lost
 */
export async function exportPerson(world: RunWorld, profileId: string) {
  const { directory, clock, version } = world
  const { tables, markers, destinations } = await readingIn(directory, async (warehouse) => ({
    ...(await knownOf(warehouse, [profileId])),
    tables: await rowsAbout(warehouse, profileId),
  }))
  const { events, answers } = receivedOf(world, profileId, namingOf(markers))
  if (events.length === 0 && answers.length === 0 && Object.keys(tables).length === 0) {
    const wasErased = readSuppression(openJournal(directory.journal, clock)).coversPerson(profileId)
    const name = JSON.stringify(profileId)
    const what = wasErased
      ? `${name} was erased: nothing is known of them`
      : `nothing is known of ${name} in ${directory.root}`
    throw new ConfigError(what, wasErased ? {} : { hint: BY_ID })
  }
  return {
    profile_id: profileId,
    exported_at: isoInstant(clock.now()),
    jobtide: version,
    sources: SOURCES,
    tables,
    events_as_sent: events,
    answers_as_sent: answers,
    // They may have been copied from there.
    published_to: destinations,
  }
}

function receivedOf(
  { directory, clock }: RunWorld,
  profileId: string,
  isNamed: (text: string) => boolean,
) {
  const events: { run_id: string; request_id: string; received_at: string; event: unknown }[] = []
  const answers: { endpoint: string; received_at: string; parts: readonly unknown[] }[] = []
  const journal = openJournal(directory.journal, clock)
  // Half of what is known would look like all of it.
  journal.check()
  for (const segment of journal.segments()) {
    for (const frame of journal.read(segment)) {
      const { record } = frame
      if (record.kind === 'answer_received' || record.kind === 'delivery_received') {
        const { endpoint, subject } =
          record.kind === 'answer_received' ? record : { endpoint: SIGNAL_DELIVERY, subject: '' }
        const parts = partsNaming(frame.payload(), isNamed, subject)
        if (parts.length > 0) answers.push({ endpoint, received_at: isoInstant(record.at), parts })
      }
      if (record.kind !== 'page_received') continue
      const { run_id, request_id, at } = record
      for (const event of eventsOn(frame.payload())) {
        if (!peopleIn(event).includes(profileId)) continue
        events.push({ run_id, request_id, received_at: isoInstant(at), event })
      }
    }
  }
  return { events, answers }
}

async function rowsAbout(warehouse: Warehouse, profileId: string) {
  const found: Record<string, readonly Row[]> = {}
  for (const { name, relation, columns: held } of await relationsOf(warehouse)) {
    const table = nameInTier(name)
    if (table === undefined || !held.includes('profile_id')) continue
    const result = await warehouse.table(
      `select * from ${relation} where profile_id = $1 order by all`,
      [profileId],
    )
    if (result.rows.length > 0) found[table] = asObjects(result)
  }
  return found
}
