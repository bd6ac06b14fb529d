/** What two data directories have in common: rows that are in one and not in the other, table by table. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { quoteText } from '../../src/warehouse/sql-text.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { memoryWarehouse } from './warehouse.ts'

// When and by which run a row was seen differs between two runs of the same question; nothing else may.
const NOT_COMPARED = [
  'attributes_seen_at',
  'first_seen_at',
  'joined_first_seen_at',
  'left_first_seen_at',
  'last_seen_at',
  'first_run_id',
  'last_run_id',
]

/** Rows that differ, by table, and how many rows were compared. */
export interface Differences {
  readonly different: Readonly<Record<string, number>>
  readonly rows: number
}

/** Compares every table of `main`, `ops.coverage`, and every table of the newest snapshot below `<data dir>/snapshots`. */
export async function compareDataDirs(one: string, other: string): Promise<Differences> {
  const engine = await memoryWarehouse()
  try {
    const found: Record<string, number> = {}
    let rows = 0
    const pairs = [
      ...(await attached(engine, one, other)),
      ...(await snapshots(engine, one, other)),
    ]
    for (const [name, a, b] of pairs) {
      const [result] = await engine.all<{ rows: number; different: number }>(compareSql(a, b))
      rows += result?.rows ?? 0
      if (result?.different !== 0) found[name] = result?.different ?? -1
    }
    return { different: found, rows }
  } finally {
    engine.close()
  }
}

type Pair = readonly [name: string, one: string, other: string]

async function attached(engine: Warehouse, one: string, other: string): Promise<Pair[]> {
  for (const [name, dataDir] of [
    ['one', one],
    ['other', other],
  ] as const) {
    await engine.run(`attach ${quoteText(join(dataDir, 'jobtide.duckdb'))} as ${name} (read_only)`)
  }
  const names = await tableNames(engine, 'one', 'main')
  const others = await tableNames(engine, 'other', 'main')
  if (names.join() !== others.join()) throw new Error(`tables: ${names.join()} | ${others.join()}`)
  const tables = [...names.map((name) => `main.${name}`), 'ops.coverage']
  return tables.map((table) => [table, `one.${table}`, `other.${table}`])
}

async function snapshots(engine: Warehouse, one: string, other: string): Promise<Pair[]> {
  for (const [name, dataDir] of [
    ['snapshot_one', one],
    ['snapshot_other', other],
  ] as const) {
    await engine.run(`create schema ${name}; set schema = ${quoteText(`memory.${name}`)}`)
    await engine.run(viewsOf(join(dataDir, 'snapshots')))
  }
  const rows = await engine.all<{ name: string }>(
    `select view_name as name from duckdb_views() where schema_name = 'snapshot_one' order by 1`,
  )
  return rows.map(({ name }) => [
    `snapshot ${name}`,
    `memory.snapshot_one.${name}`,
    `memory.snapshot_other.${name}`,
  ])
}

function viewsOf(folder: string): string {
  const pointer = JSON.parse(readFileSync(join(folder, 'latest.json'), 'utf8')) as {
    snapshot_id: string
  }
  return readFileSync(join(folder, 'snapshots', pointer.snapshot_id, 'views.sql'), 'utf8')
}

async function tableNames(engine: Warehouse, database: string, schema: string): Promise<string[]> {
  const rows = await engine.all<{ name: string }>(
    `select table_name as name from duckdb_tables()
     where database_name = $1 and schema_name = $2 order by 1`,
    [database, schema],
  )
  return rows.map(({ name }) => name)
}

function compareSql(one: string, other: string): string {
  const excluded = NOT_COMPARED.map(quoteText).join(', ')
  const select = (table: string) =>
    `select columns(name -> name not in (${excluded})) from ${table}`
  return `
    select
        (select count(*)::int from ${one}) as rows,
        (select count(*)::int from ((${select(one)} except all ${select(other)})
          union all (${select(other)} except all ${select(one)}))) as different`
}
