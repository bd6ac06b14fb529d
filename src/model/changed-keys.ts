/**
 * Changed keys: the values of `incremental_by` columns whose rows are computed again, and tables that show only such rows. The
 * load finds those of people (sql/load/merge_events.sql), `changedKeysOf` in table-delta.ts all others.
 */

import { quoteIdentifier } from '../warehouse/sql-text.ts'
import { hasColumns, newRows, PERSON, type TableDelta } from './table-delta.ts'
import type { BuildWork } from './steps.ts'
import type { Temporaries } from './temporaries.ts'

export interface ChangedKeys {
  /** A temporary table with one row for each key; SQL. */
  readonly source: string
  readonly columns: readonly string[]
  /** Those of the columns that are null in a key. */
  readonly nullable: ReadonlySet<string>
  readonly count: number
}

/** An incremental build on its way. */
export interface IncrementalWork extends BuildWork {
  readonly temporaries: Temporaries
  readonly people: ChangedKeys
  /** What became of each table so far. */
  readonly tables: Map<string, TableDelta>
}

/** What became of the tables that a model or check reads. */
export function deltasOf({ tables }: IncrementalWork, names: readonly string[]): TableDelta[] {
  return names.flatMap((name) => tables.get(name) ?? [])
}

/** Keeps the keys that `select` returns, each once. */
export async function keepKeys(
  temporaries: Temporaries,
  select: string,
  columns: readonly string[],
): Promise<ChangedKeys> {
  const source = await temporaries.keep(`select distinct * from (${select})`)
  const counts = columns.map((column, place) => `count(${quoteIdentifier(column)}) as n${place}`)
  const [row] = await temporaries.warehouse.all<Record<string, bigint>>(
    `select count(*) as all_keys, ${counts.join(', ')} from ${source}`,
  )
  const count = Number(row?.['all_keys'] ?? 0)
  const nullable = columns.filter((_, place) => Number(row?.[`n${place}`] ?? 0) < count)
  return { source, columns, nullable: new Set(nullable), count }
}

/**
 * `semi join` of `alias` with keys; null is a value like others. Where no key has one, `=` says the same in two thirds of the
 * time.
 */
export function semiJoin(alias: string, { source, columns, nullable }: ChangedKeys): string {
  const same = columns.map((column) => {
    const name = quoteIdentifier(column)
    const equals = nullable.has(column) ? 'is not distinct from' : '='
    return `${alias}.${name} ${equals} wanted.${name}`
  })
  return `semi join ${source} as wanted on ${same.join(' and ')}`
}

/** The rows of a stored table that have one of the keys; a select. */
export function rowsOfKeys(temporaries: Temporaries, table: string, keys: ChangedKeys): string {
  return `select kept.* from ${temporaries.stored(table)} as kept ${semiJoin('kept', keys)}`
}

/** Lets those of `reads` that have the columns of the keys show only rows of the keys. */
export async function showRowsOfKeys(
  temporaries: Temporaries,
  reads: readonly TableDelta[],
  keys: ChangedKeys,
  rowsOf = (read: TableDelta) => rowsOfKeys(temporaries, read.name, keys),
): Promise<void> {
  for (const read of reads) {
    if (hasColumns(read, keys.columns)) await temporaries.shadow(read.name, rowsOf(read))
  }
}

/** Lets those of `reads` that have people show only the changed ones. */
export async function showPeople(
  { temporaries, people }: IncrementalWork,
  reads: readonly TableDelta[],
): Promise<void> {
  await showRowsOfKeys(temporaries, reads, people, ({ name, peopleRows }) =>
    peopleRows === null ? rowsOfKeys(temporaries, name, people) : `select * from ${peopleRows}`,
  )
}

/** Lets tables show the rows that are new. */
export async function showNew(
  temporaries: Temporaries,
  reads: readonly TableDelta[],
): Promise<void> {
  for (const { name, delta } of reads) {
    const none = `select * from ${temporaries.stored(name)} limit 0`
    await temporaries.shadow(name, delta === null ? none : newRows(delta))
  }
}

/** Whether what reads these tables, and is computed by `columns`, can be computed for changed people alone. */
export function isByPeople(
  { project: { nodes } }: IncrementalWork,
  columns: readonly string[],
  reads: readonly TableDelta[],
): boolean {
  // A title is understood the same for everyone: a new row there changes nothing for people who did not change.
  const isComputed = (name: string) =>
    nodes.some((other) => other.name === name && other.computed !== null)
  return (
    columns.join() === PERSON &&
    reads.every(
      ({ name, peopleRows, change }) =>
        peopleRows !== null || change === 'none' || isComputed(name) || name === AS_OF,
    )
  )
}

/** The model that holds the day of the data. */
const AS_OF = 'as_of'

/**
 * Takes people for changed whose announced changes came due since the last build: what is current depends on the day of the
 * data, which moves with each load.
 */
export async function noteDuePeople({ warehouse, project }: BuildWork): Promise<void> {
  const node = project.nodes.find(({ name }) => name === AS_OF)
  if (node === undefined) return
  await warehouse.run(
    `insert into ops.changed_people
     select distinct profile_id
     from job_change_events
     cross join (select as_of_on as old from core.${AS_OF})
     cross join (select as_of_on as new from (${node.sql}))
     where utc_date(changed_at) > least(old, new) and utc_date(changed_at) <= greatest(old, new)`,
  )
}
