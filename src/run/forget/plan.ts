/** Finds everything that an erasure would change, and changes nothing. */

import { openJournal } from '../../journal/journal.ts'
import { answersNaming } from '../../load/remove-suppressed.ts'
import { isOlder, peopleIn, readSuppression, type Erasable } from '../../load/suppression.ts'
import { ConfigError } from '../../support/errors.ts'
import { jsonOrNull } from '../../support/json.ts'
import { countErasable, defineMacros } from '../../warehouse/erase-rows.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import type { DataDirectory } from '../data-directory.ts'
import { databasesToErase } from '../databases.ts'
import { newAmong, readPending, together, type StoreFindings } from './pending.ts'
import { cutting, findInJournal } from './rebuild.ts'
import { knownOf, namingOf, readingIn, type ErasureWorld } from './search.ts'
import { findInTarget } from './snapshots.ts'

export type ErasurePlan = Awaited<ReturnType<typeof planErasure>>

/**
 * Looks for people, or events from before a day, in the data directory and where snapshots were published.
 * @throws LockedError when another process writes the warehouse
 */
export async function planErasure(world: ErasureWorld, request: Erasable) {
  const { directory, clock } = world
  const earlier = readPending(directory.root)
  const { profile_ids: ids, events_before, markers: noted } = together(earlier, request)
  const people = new Set(ids)
  const eventsBefore = events_before === null ? null : Date.parse(events_before)
  const suppression = readSuppression(openJournal(directory.journal, clock))
  const isErased = (event: unknown) =>
    suppression.coversEvent(event) ||
    peopleIn(event).some((id) => people.has(id)) ||
    isOlder(event, eventsBefore)
  const { rows, ...known } = await readingIn(directory, async (warehouse) => {
    const here = await knownOf(warehouse, ids)
    const counted = await countErasable(warehouse, {
      profileIds: ids,
      eventsBefore,
      isErasedReject: (text) => isErased(jsonOrNull(text)),
    })
    const answers = ids.length === 0 ? [] : await answersNaming(warehouse, namingOf(here.markers))
    const named = answers.length === 0 ? {} : { 'main.answers': answers.length }
    return { ...here, rows: { ...counted, ...named } }
  })
  const markers = [...noted, ...known.markers]
  const segments = findInJournal(world, cutting(isErased, namingOf(markers)))
  const stores: StoreFindings[] = []
  for (const target of ids.length === 0 ? [] : world.targets(known.destinations)) {
    stores.push(await findInTarget(world, target, markers))
  }
  stores.push(...databasesToErase(directory.root).map(({ found }) => found))
  return {
    people: ids.length,
    /** Ids of people without any data here. */
    not_here: newAmong(known.notHere, earlier),
    events_before,
    /** Whether an earlier erasure was stopped; what it left undone is in here. */
    goes_on: earlier !== null,
    segments,
    rows,
    stores,
  }
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
