/** What a forgetting would do: it looks everywhere and changes nothing. */

import { existsSync } from 'node:fs'
import type { Findings } from '../../journal/erase.ts'
import { openJournal } from '../../journal/journal.ts'
import { isOlder, peopleIn, readSuppression } from '../../load/suppression.ts'
import { countRows, type RowsByTable } from '../../warehouse/erase.ts'
import { withWarehouse, type Warehouse } from '../../warehouse/warehouse.ts'
import { findAnalystCopy } from '../analyst-copy.ts'
import { eventOfReject, findInJournal } from './forget-journal.ts'
import { newPending, readPending, together } from './forget-pending.ts'
import { findInTarget, knownDestinations, type TargetFindings } from './forget-stores.ts'
import { markersOf, textsOfEvent, textsOfPeople } from './forget-texts.ts'
import { tell, type ForgetRequest, type ForgetWorld } from './forget-world.ts'

/** Where somebody is found. */
export interface ForgetPlan {
  readonly people: number
  /** Events that changed and were detected before this, ISO 8601; null for none. */
  readonly eventsBefore: string | null
  /** Whether an earlier forgetting was stopped; what it left undone is in here. */
  readonly goesOn: boolean
  readonly segments: readonly Findings[]
  readonly rows: RowsByTable
  /** Whether there is a copy for analysts, which is then made anew. */
  readonly hasAnalystCopy: boolean
  readonly stores: readonly TargetFindings[]
}

/**
 * Looks for people, or events from before a day, in the data directory and where snapshots were published.
 * @throws LockedError when another process writes the warehouse
 */
export async function planForgetting(
  world: ForgetWorld,
  request: ForgetRequest,
): Promise<ForgetPlan> {
  const { directory, clock } = world
  const earlier = readPending(directory.root)
  const pending = together(earlier ?? newPending(), request)
  const { profile_ids: ids, events_before: before } = pending
  const people = new Set(ids)
  const journal = openJournal(directory.journal, clock)
  const suppression = readSuppression(journal)
  const beforeMs = before === null ? null : Date.parse(before)
  const texts = new Set(pending.texts)
  const isErased = (event: unknown) =>
    suppression.coversEvent(event) ||
    peopleIn(event).some((id) => people.has(id)) ||
    isOlder(event, beforeMs)
  tell(world, { step: 'search' })
  const segments = findInJournal(
    journal,
    isErased,
    (event) => {
      if (!peopleIn(event).some((id) => people.has(id))) return
      for (const text of textsOfEvent(event)) texts.add(text)
    },
    (done, total) => tell(world, { step: 'search', done, total }),
  )
  const found = await inWarehouse(directory.warehouse, async (warehouse) => {
    for (const text of await textsOfPeople(warehouse, ids)) texts.add(text)
    const rows = await countRows(warehouse, {
      profileIds: ids,
      eventsBefore: beforeMs === null ? null : new Date(beforeMs),
      isErasedReject: (text) => isErased(eventOfReject(text)),
    })
    const markers = await markersOf(warehouse, ids, [...texts])
    return { rows, markers, known: await knownDestinations(warehouse) }
  })
  const stores: TargetFindings[] = []
  for (const target of ids.length === 0 ? [] : world.targets(found?.known ?? [])) {
    stores.push(await findInTarget(world, target, ids, found?.markers ?? []))
  }
  return {
    people: ids.length,
    eventsBefore: before,
    goesOn: earlier !== null,
    segments,
    rows: found?.rows ?? {},
    hasAnalystCopy: findAnalystCopy(directory) !== null,
    stores,
  }
}

async function inWarehouse<T>(
  path: string,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T | null> {
  if (!existsSync(path)) return null
  return withWarehouse({ path, mode: 'read' }, work)
}
