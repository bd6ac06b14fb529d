/** ChangedKeys of rows, by the values of some columns, and tables that show only the rows of such groups. */

import { quoteIdentifier, type Warehouse } from '../warehouse/warehouse.ts'
import { listOf, DIFF_SIGN } from './difference.ts'
import type { Project, ProjectNode } from './project.ts'
import type { Temporaries } from './temporaries.ts'
import { hasColumns, PERSON, type TableDelta } from './table-delta.ts'

/** Some groups. */
export interface ChangedKeys {
  /** A temporary table, or a select in brackets, with one row for each group; SQL. */
  readonly source: string
  /** The columns that make the groups. */
  readonly columns: readonly string[]
  /** Those of them that are null in a group. */
  readonly nullable: ReadonlySet<string>
  readonly count: number
  /** A condition for rows of `alias` that those of the groups fulfil, and few others; null: none is known. */
  readonly prefilter: ((alias: string) => string) | null
}

/** Keeps the groups that `select` returns, each once. */
export async function keepKeys(
  warehouse: Warehouse,
  temporaries: Temporaries,
  select: string,
  columns: readonly string[],
): Promise<ChangedKeys> {
  const source = await temporaries.keep(`select distinct * from (${select})`)
  const counts = columns.map((column, place) => `count(${quoteIdentifier(column)}) as n${place}`)
  const [row] = await warehouse.all<Record<string, bigint>>(
    `select count(*) as all_groups, ${counts.join(', ')} from ${source}`,
  )
  const count = Number(row?.['all_groups'] ?? 0)
  const nullable = columns.filter((_, place) => Number(row?.[`n${place}`] ?? 0) < count)
  return { source, columns, nullable: new Set(nullable), count, prefilter: null }
}

// Of one column, by whose hash a row is let through: with 32 bits for each group, one in 32 that has no group is, too.
const BITS_PER_GROUP = 32
const PREFILTER = 'touched'

/**
 * Adds a prefilter to groups of one column. A scan asks it before it reads the other columns, so that few rows of a wide table are
 * read in full; a join is asked after that. It is a variable of the session: `dropPrefilter` forgets it.
 */
export async function withPrefilter(
  warehouse: Warehouse,
  groups: ChangedKeys,
): Promise<ChangedKeys> {
  const bits = Math.max(1, groups.count) * BITS_PER_GROUP
  const bit = (value: string) => `cast(hash(${value}) % ${bits} as integer)`
  const column = quoteIdentifier(groups.columns[0] ?? '')
  await warehouse.run(
    `set variable ${PREFILTER} = (
         select bitstring_agg(bit, 0, ${bits - 1}) from (select distinct ${bit(column)} as bit from ${groups.source})
     )`,
  )
  const prefilter = (alias: string) =>
    `get_bit(getvariable('${PREFILTER}'), ${bit(`${alias}.${column}`)}) = 1`
  return { ...groups, prefilter }
}

/** Forgets the prefilter. */
export async function dropPrefilter(warehouse: Warehouse): Promise<void> {
  await warehouse.run(`reset variable ${PREFILTER}`)
}

/**
 * `semi join` of `alias` with groups; null is a value like others. Where no group has one, `=` says the same in two thirds
 * of the time. Nothing but the end of the select may follow.
 */
export function semiJoin(
  alias: string,
  { source, columns, nullable, prefilter }: ChangedKeys,
): string {
  const same = columns.map((column) => {
    const name = quoteIdentifier(column)
    const equals = nullable.has(column) ? 'is not distinct from' : '='
    return `${alias}.${name} ${equals} wanted.${name}`
  })
  const where = prefilter === null ? '' : ` where ${prefilter(alias)}`
  return `semi join ${source} as wanted on ${same.join(' and ')}${where}`
}

/**
 * Lets those of `reads` that have the columns of the groups show only rows of these.
 * @param reader what reads them; a table that it names twice is looked through once, and what is found is kept
 * @returns what was kept
 */
export async function showRowsOfKeys(
  temporaries: Temporaries,
  reads: readonly TableDelta[],
  groups: ChangedKeys,
  reader?: ProjectNode,
): Promise<string[]> {
  const keptRows: string[] = []
  for (const { name, columns } of reads) {
    if (!groups.columns.every((column) => columns.includes(column))) continue
    if (reader?.readsTwice.has(name) !== true) {
      await temporaries.shadow(name, rowsOfGroups(temporaries, name, groups))
      continue
    }
    const wanted = columns.filter(
      (column) => groups.columns.includes(column) || reader.words?.has(column) !== false,
    )
    const rows = await temporaries.keep(rowsOfGroups(temporaries, name, groups, wanted))
    keptRows.push(rows)
    await temporaries.shadow(name, `select * from ${rows}`)
  }
  return keptRows
}

/** Lets those of `reads` that are kept by people show touched people only. */
export async function showPeople(
  temporaries: Temporaries,
  reads: readonly TableDelta[],
  people: ChangedKeys,
): Promise<void> {
  for (const read of reads) {
    const { name, rowsOfPeople } = read
    if (!hasColumns(read, [PERSON])) continue
    await temporaries.shadow(
      name,
      rowsOfPeople === null
        ? rowsOfGroups(temporaries, name, people)
        : `select * from ${rowsOfPeople}`,
    )
  }
}

/** Lets tables show the rows that are new tonight, `> 0`, or those that are gone, `< 0`. */
export async function showDifferences(
  temporaries: Temporaries,
  reads: readonly TableDelta[],
  rows: '> 0' | '< 0',
): Promise<void> {
  for (const { name, changed } of reads) {
    await temporaries.shadow(
      name,
      changed === null
        ? `select * from ${temporaries.stored(name)} limit 0`
        : `select * from ${changed} where ${DIFF_SIGN} ${rows}`,
    )
  }
}

/** Keeps what a select of each row by itself returns of rows that are new, with `DIFF_SIGN` 1, and of those that are gone, with -1. */
export async function keepDifferences(
  temporaries: Temporaries,
  reads: readonly TableDelta[],
  select: string,
): Promise<string> {
  const parts: string[] = []
  for (const [rows, more] of [
    ['> 0', 1],
    ['< 0', -1],
  ] as const) {
    await showDifferences(temporaries, reads, rows)
    const kept = await temporaries.keep(`select *, ${more} as ${DIFF_SIGN} from (${select})`)
    await temporaries.unshadow()
    parts.push(kept)
  }
  const all = await temporaries.keep(
    parts.map((part) => `select * from ${part}`).join(' union all '),
  )
  for (const part of parts) await temporaries.drop(part)
  return all
}

/** Whether what reads these tables, and is asked by `scope`, can be asked of touched people alone. */
export function isByPeople(
  { nodes }: Project,
  incrementalBy: readonly string[],
  reads: readonly TableDelta[],
): boolean {
  // A title is understood the same whoever has it, so a new row there changes nothing for people who were not touched.
  const isComputed = (name: string) =>
    nodes.some((other) => other.name === name && other.computed !== null)
  return (
    incrementalBy.join() === PERSON &&
    reads.every(
      ({ name, rowsOfPeople, change }) =>
        rowsOfPeople !== null || change === 'none' || isComputed(name),
    )
  )
}

function rowsOfGroups(
  temporaries: Temporaries,
  table: string,
  groups: ChangedKeys,
  columns?: readonly string[],
): string {
  const shown = columns === undefined ? 'kept.*' : listOf(columns, 'kept')
  return `select ${shown} from ${temporaries.stored(table)} as kept ${semiJoin('kept', groups)}`
}
