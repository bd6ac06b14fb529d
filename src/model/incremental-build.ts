/**
 * Refreshes the tables after a load by computing only what the changed people and keys can alter. The result is, row for row,
 * that of a full refresh. Part of the build's transaction.
 *
 * Temporary views under the names that a model reads decide which rows it sees (temporaries.ts); its SQL is that of a full
 * refresh. In which mode a model is refreshed, and what becomes of its rows, table-delta.ts says.
 */

import { loadedTables, WATCH_ENTRIES } from '../warehouse/catalog.ts'
import { noteChange } from '../warehouse/changed-tables.ts'
import {
  deltasOf,
  isByPeople,
  keepKeys,
  noteDuePeople,
  rowsOfKeys,
  semiJoin,
  showPeople,
  showRowsOfKeys,
  type IncrementalWork,
} from './changed-keys.ts'
import { addMissing, removeUnmentioned } from './compute.ts'
import type { ComputedModel } from './computed-models.ts'
import { applyDifference, DIFF_SIGN, type ComparedTable } from './difference.ts'
import { checkChanges } from './incremental-checks.ts'
import type { ProjectNode } from './project.ts'
import { takeSteps, type BuildWork, type BuiltTables } from './steps.ts'
import { changedInAll, changedKeysOf, PERSON, unchanged, type TableDelta } from './table-delta.ts'
import { columnsOf, createModelTable, rowsIn } from './tables.ts'
import { Temporaries } from './temporaries.ts'

/** Builds what the people in `ops.changed_people` can alter. */
export async function buildIncrementally(build: BuildWork): Promise<BuiltTables> {
  const { warehouse, project } = build
  // Rows are looked up by key, never by where they stand; written in any order, all threads write.
  await warehouse.run('set preserve_insertion_order = false')
  await noteDuePeople(build)
  const temporaries = await Temporaries.in(warehouse, project.nodes)
  const people = await keepKeys(temporaries, `select ${PERSON} from ops.changed_people`, [PERSON])
  const work: IncrementalWork = { ...build, temporaries, people, tables: new Map() }
  for (const { name } of loadedTables) work.tables.set(name, await readLoaded(work, name))
  work.tables.set(WATCH_ENTRIES, changedInAll(WATCH_ENTRIES, []))
  const built = await takeSteps(
    work,
    async (node) => {
      const { table, rowsChanged } = await refresh(work, node)
      work.tables.set(node.name, table)
      if (node.schema === 'main') await noteChanges(work, node, table)
      const stored = temporaries.stored(node.name)
      return { rows: node.kind === 'view' ? null : await rowsIn(warehouse, stored), rowsChanged }
    },
    (check) => checkChanges(work, check),
  )
  await temporaries.dropAll()
  return built
}

/** Notes for the publisher what became of a table. */
async function noteChanges(
  { warehouse }: IncrementalWork,
  node: ProjectNode,
  { change, delta, isExact }: TableDelta,
): Promise<void> {
  if (change !== 'none') await noteChange(warehouse, node, isExact ? delta : null)
}

interface Refreshed {
  readonly table: TableDelta
  /** Rows written and deleted; null when it was written in full. */
  readonly rowsChanged: number | null
}

async function readLoaded(work: IncrementalWork, name: string): Promise<TableDelta> {
  const { warehouse, temporaries, people } = work
  const columns = await columnsOf(warehouse, name)
  if (!columns.includes(PERSON)) return changedInAll(name, columns)
  const rows = await temporaries.keep(rowsOfKeys(temporaries, name, people))
  return peopleDelta(work, name, columns, rows)
}

/** The delta of a table of which only the rows that people have now are known. */
async function peopleDelta(
  { warehouse }: IncrementalWork,
  name: string,
  columns: readonly string[],
  rows: string,
): Promise<TableDelta> {
  const isEmpty = (await rowsIn(warehouse, rows)) === 0
  return {
    ...unchanged(name, columns),
    change: isEmpty ? 'none' : 'rows',
    peopleRows: rows,
    delta: isEmpty ? null : `(select *, 1 as ${DIFF_SIGN} from ${rows})`,
    isExact: false,
  }
}

async function refresh(work: IncrementalWork, node: ProjectNode): Promise<Refreshed> {
  const { name, kind, incrementalBy, computed } = node
  const columns = [...node.columns.keys()]
  const reads = deltasOf(work, node.reads)
  if (reads.every(({ change }) => change === 'none')) {
    return { table: unchanged(name, columns), rowsChanged: 0 }
  }
  const compared = { name, columns, key: node.key }
  if (computed !== null) return refreshComputed(work, compared, computed, reads)
  if (isByPeople(work, incrementalBy, reads)) return refreshPeople(work, node, compared, reads)
  if (kind === 'view') return { table: changedInAll(name, columns), rowsChanged: 0 }
  const select = incrementalBy.length === 0 ? null : changedKeysOf(reads, incrementalBy)
  return select === null
    ? refreshAll(work, node, compared)
    : refreshKeys(work, node, compared, reads, select)
}

async function refreshPeople(
  work: IncrementalWork,
  { kind, name, sql }: ProjectNode,
  compared: ComparedTable,
  reads: readonly TableDelta[],
): Promise<Refreshed> {
  const { temporaries, people } = work
  await showPeople(work, reads)
  const rows = await temporaries.keep(sql)
  await temporaries.unshadow()
  if (kind === 'view') {
    return { table: await peopleDelta(work, name, compared.columns, rows), rowsChanged: 0 }
  }
  const refreshed = await replaceRows(temporaries, compared, semiJoin('old', people), rows)
  return { ...refreshed, table: { ...refreshed.table, peopleRows: rows } }
}

async function refreshKeys(
  { temporaries }: IncrementalWork,
  { sql, incrementalBy }: ProjectNode,
  compared: ComparedTable,
  reads: readonly TableDelta[],
  select: string,
): Promise<Refreshed> {
  const keys = await keepKeys(temporaries, select, incrementalBy)
  await showRowsOfKeys(temporaries, reads, keys)
  const made = `select made.* from (${sql}) as made ${semiJoin('made', keys)}`
  const rows = await temporaries.keep(made)
  await temporaries.unshadow()
  const refreshed = await replaceRows(temporaries, compared, semiJoin('old', keys), rows)
  for (const kept of [rows, keys.source]) await temporaries.drop(kept)
  return refreshed
}

async function refreshAll(
  { warehouse, project, temporaries }: IncrementalWork,
  node: ProjectNode,
  compared: ComparedTable,
): Promise<Refreshed> {
  if (!project.nodes.some(({ reads }) => reads.includes(node.name))) {
    await createModelTable(warehouse, node)
    return { table: changedInAll(node.name, compared.columns), rowsChanged: null }
  }
  const rows = await temporaries.keep(node.sql)
  const refreshed = await replaceRows(temporaries, compared, '', rows)
  await temporaries.drop(rows)
  return refreshed
}

/** Replaces the rows that are `replaced` (see applyDifference) by `rows`. */
async function replaceRows(
  temporaries: Temporaries,
  compared: ComparedTable,
  replaced: string,
  rows: string,
): Promise<Refreshed> {
  const { delta, rowsChanged } = await applyDifference(temporaries, compared, replaced, rows)
  const table = unchanged(compared.name, compared.columns)
  return { table: rowsChanged === 0 ? table : { ...table, change: 'rows', delta }, rowsChanged }
}

/** Adds the keys that changed people mention, and removes those that no row mentions any more. */
async function refreshComputed(
  work: IncrementalWork,
  { name, columns }: ComparedTable,
  computed: ComputedModel,
  reads: readonly TableDelta[],
): Promise<Refreshed> {
  const { warehouse, temporaries } = work
  await showPeople(work, reads)
  let rowsChanged = await addMissing(warehouse, computed)
  await temporaries.unshadow()
  // Of events nothing is ever gone: what they said before they were corrected is in their versions.
  const [read] = reads
  if (read?.isExact === true) rowsChanged += await removeUnmentioned(temporaries, computed, read)
  const table = rowsChanged === 0 ? unchanged(name, columns) : changedInAll(name, columns)
  return { table, rowsChanged }
}
