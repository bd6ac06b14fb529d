/**
 * Takes people, and events from before a day, out of a warehouse for good. A `delete` only marks rows: their bytes stay in
 * the file until something else is written there. So the file is written anew from the rows that are left, and takes the
 * place of the old one by rename.
 */

import { EXIT, JobtideError } from '../support/errors.ts'
import { removeDatabase, replaceDatabase } from './database-file.ts'
import { openWarehouse, quoteIdentifier, quoteText, type Warehouse } from './warehouse.ts'

/** What is not kept. */
export interface Erased {
  readonly profileIds: readonly string[]
  /** Events that changed and were detected before this; null erases none for their age. */
  readonly eventsBefore: Date | null
  /** Whether a reject is not kept, by the event as sent. */
  readonly isErasedReject: (eventText: string) => boolean
}

/** Rows by table, such as `ops.rejects`; tables without any are left out. */
export type RowsByTable = Readonly<Record<string, number>>

const SELECTED = 'temp.erased_people'

/** Counts the rows that eraseRows would delete. */
export async function countRows(warehouse: Warehouse, erased: Erased): Promise<RowsByTable> {
  return warehouse.transaction(async () => {
    const counts: Record<string, number> = {}
    for (const { table, condition } of await conditions(warehouse, erased)) {
      const [row] = await warehouse.all<{ row_count: bigint }>(
        `select count(*) as row_count from ${quoted(table)} where ${condition}`,
      )
      const rows = Number(row?.row_count ?? 0)
      if (rows > 0) counts[table] = (counts[table] ?? 0) + rows
    }
    const rejects = (await erasedRejects(warehouse, erased)).length
    await warehouse.run(`drop table ${SELECTED}`)
    return rejects === 0 ? counts : { ...counts, 'ops.rejects': rejects }
  })
}

/**
 * Deletes the rows, and lets the next build make every model anew: other rows, counts of organisations among them, were
 * made of them. Everything or nothing.
 */
export async function eraseRows(warehouse: Warehouse, erased: Erased): Promise<RowsByTable> {
  return warehouse.transaction(async () => {
    const deleted: Record<string, number> = {}
    for (const { table, condition } of await conditions(warehouse, erased)) {
      const [row] = await warehouse.all<{ Count: bigint }>(
        `delete from ${quoted(table)} where ${condition}`,
      )
      const rows = Number(row?.Count ?? 0)
      if (rows > 0) deleted[table] = (deleted[table] ?? 0) + rows
    }
    await warehouse.run(`drop table ${SELECTED}`)
    const rejects = await erasedRejects(warehouse, erased)
    for (const { request_id: requestId, position } of rejects) {
      await warehouse.run('delete from ops.rejects where request_id = $1 and position = $2', [
        requestId,
        position,
      ])
    }
    // Samples are offending rows of any table.
    await warehouse.run(
      'delete from ops.build_state; update ops.checks set sample = null where sample is not null',
    )
    return rejects.length === 0 ? deleted : { ...deleted, 'ops.rejects': rejects.length }
  })
}

interface Condition {
  readonly table: string
  readonly condition: string
}

async function conditions(
  warehouse: Warehouse,
  { profileIds, eventsBefore }: Erased,
): Promise<Condition[]> {
  await warehouse.run(`create or replace temp table ${SELECTED} (profile_id varchar not null)`)
  for (const id of profileIds) await warehouse.run(`insert into ${SELECTED} values ($1)`, [id])
  const tables = await warehouse.all<{ schema_name: string; table_name: string }>(
    `select distinct schema_name, table_name from duckdb_columns()
     where column_name = 'profile_id' and database_name = current_database()
       and (schema_name, table_name) in (select (schema_name, table_name) from duckdb_tables() where not temporary)
     order by all`,
  )
  const people = tables.map(({ schema_name: schema, table_name: name }) => ({
    table: schema === 'main' ? name : `${schema}.${name}`,
    condition: `profile_id in (select profile_id from ${SELECTED})`,
  }))
  if (eventsBefore === null) return people
  const before = `cast(${quoteText(eventsBefore.toISOString())} as timestamptz)`
  const isOld = `changed_at < ${before} and detected_at < ${before}`
  return [
    ...people,
    { table: 'job_change_events', condition: isOld },
    { table: 'job_change_event_versions', condition: isOld },
    // An event with one version only has none.
    {
      table: 'job_change_event_versions',
      condition: `event_key in (select event_key from job_change_event_versions group by event_key having count(*) = 1)`,
    },
  ]
}

function quoted(table: string): string {
  return table.split('.').map(quoteIdentifier).join('.')
}

interface RejectKey {
  readonly request_id: string
  readonly position: number
}

async function erasedRejects(
  warehouse: Warehouse,
  { isErasedReject }: Erased,
): Promise<RejectKey[]> {
  const rows = await warehouse.all<RejectKey & { event: string }>(
    'select request_id, position, event from ops.rejects',
  )
  return rows.filter(({ event }) => isErasedReject(event))
}

const REWRITTEN = '.rewritten'

/**
 * Writes the file of a warehouse anew from its rows, so that nothing of what was deleted is left in it. Nobody may have it
 * open. Tables, views, macros and comments are as they were.
 * @throws LockedError when another program has the file open
 * @throws StorageError when the disk refuses: then the old file is still there
 */
export async function rewriteWarehouse(path: string): Promise<void> {
  const fresh = `${path}${REWRITTEN}`
  removeDatabase(fresh)
  const warehouse = await openWarehouse({ path, mode: 'write' })
  try {
    await copyAll(warehouse, fresh)
    await warehouse.run('checkpoint')
  } finally {
    warehouse.close()
  }
  try {
    await replaceDatabase(path, fresh)
  } finally {
    removeDatabase(fresh)
  }
}

async function copyAll(warehouse: Warehouse, target: string): Promise<void> {
  const [row] = await warehouse.all<{ name: string }>('select current_database() as name')
  const source = row?.name ?? ''
  await warehouse.run(`attach ${quoteText(target)} as rewritten`)
  try {
    await warehouse.run(`copy from database ${quoteIdentifier(source)} to rewritten`)
    const [before, after] = [
      await contentOf(warehouse, source),
      await contentOf(warehouse, 'rewritten'),
    ]
    if (before !== after) {
      throw new JobtideError(
        EXIT.defect,
        `the copy of ${warehouse.path} is not what it was made of`,
        {
          hint: 'The warehouse is as it was. Please report this.',
        },
      )
    }
    await warehouse.run('checkpoint rewritten')
  } finally {
    await warehouse.run('detach rewritten')
  }
}

/** Rows of every table, and how many views, macros and comments there are, as one text. */
async function contentOf(warehouse: Warehouse, database: string): Promise<string> {
  const tables = await warehouse.all<{ schema_name: string; table_name: string }>(
    'select schema_name, table_name from duckdb_tables() where database_name = $1 order by all',
    [database],
  )
  const lines: string[] = []
  for (const { schema_name: schema, table_name: table } of tables) {
    const name = [database, schema, table].map(quoteIdentifier).join('.')
    const [row] = await warehouse.all<{ row_count: bigint }>(
      `select count(*) as row_count from ${name}`,
    )
    lines.push(`${schema}.${table} ${row?.row_count}`)
  }
  const [others] = await warehouse.all<Record<string, bigint>>(
    `select
        (select count(*) from duckdb_views() where database_name = $1 and not internal) as views,
        (select count(*) from duckdb_functions() where database_name = $1 and not internal) as macros,
        (select count(comment) from duckdb_tables() where database_name = $1) as table_comments,
        (select count(comment) from duckdb_columns() where database_name = $1 and not internal) as column_comments`,
    [database],
  )
  return [
    ...lines,
    ...Object.entries(others ?? {}).map(([what, count]) => `${what} ${count}`),
  ].join('\n')
}
