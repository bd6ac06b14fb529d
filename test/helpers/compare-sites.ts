/** Compares two data directories: rows that are in only one of them, table by table. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { IN_TIERS } from '../../src/warehouse/catalog.ts'
import { quoteText } from '../../src/warehouse/sql-text.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { memoryWarehouse } from './warehouse.ts'

// Two runs of the same question may differ only in the time and run of a sighting.
const NOT_COMPARED = [
  'attributes_seen_at',
  'first_seen_at',
  'joined_first_seen_at',
  'left_first_seen_at',
  'last_seen_at',
  'first_run_id',
  'last_run_id',
]

/**
 * Compares every table of `main`, `ops.coverage`, and every table of the newest snapshot below `<data dir>/snapshots`.
 * Returns how many rows differ, by table, and how many were compared.
 */
export async function compareDataDirs(one: string, other: string) {
  const engine = await memoryWarehouse()
  try {
    for (const [name, dataDir] of Object.entries({ one, other })) {
      const path = quoteText(join(dataDir, 'jobtide.duckdb'))
      await engine.run(`attach ${path} as ${name} (read_only)`)
      await engine.run(`create schema ${name}_snapshot; set schema = 'memory.${name}_snapshot'`)
      const folder = join(dataDir, 'snapshots')
      // Views read the variable each time, and a connection has only one value.
      await engine.run(viewsOf(folder).replaceAll("getvariable('root')", quoteText(folder)))
    }
    const found: Record<string, number> = {}
    let rows = 0
    const names = await relationsOf(engine, 'one')
    const others = await relationsOf(engine, 'other')
    if (names.join() !== others.join()) throw new Error(`${names.join()} | ${others.join()}`)
    for (const name of [...names, '.ops.coverage']) {
      const [result] = await engine.all<{ rows: number; different: number }>(
        compareSql(`one${name}`, `other${name}`),
      )
      rows += result?.rows ?? 0
      if (result?.different !== 0) found[name] = result?.different ?? -1
    }
    return { different: found, rows }
  } finally {
    engine.close()
  }
}

/** Tables of a warehouse, as `.<schema>.<name>`, and views of a snapshot, as `_snapshot.<name>`. */
async function relationsOf(engine: Warehouse, site: 'one' | 'other'): Promise<string[]> {
  const rows = await engine.all<{ name: string }>(
    `select concat('.', schema_name, '.', table_name) as name from duckdb_tables()
     where database_name = $1 and schema_name in ${IN_TIERS}
     union all
     select concat('_snapshot.', view_name) from duckdb_views()
     where database_name = 'memory' and schema_name = concat($1, '_snapshot')
     order by 1`,
    [site],
  )
  return rows.map(({ name }) => name)
}

/** The `views.sql` of the snapshot that readers of a folder see. */
export function viewsOf(folder: string): string {
  const pointer = JSON.parse(readFileSync(join(folder, 'latest.json'), 'utf8')) as {
    snapshot_id: string
  }
  return readFileSync(join(folder, 'snapshots', pointer.snapshot_id, 'views.sql'), 'utf8')
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
