/**
 * The floor of build and publish: the time that the engine alone needs for the same tables and files. Every model is
 * created or replaced in run order, every check is one query, every published table one `copy … order by` its key with
 * a SHA-256. Titles already exist. It writes no comments, as-known-on macros, manifest or Delta logs, and compares
 * nothing.
 */

import { createHash } from 'node:crypto'
import { createReadStream, mkdirSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { join } from 'node:path'
import { askedOnly } from '../../src/model/select.ts'
import { readProject } from '../../src/model/project.ts'
import { publishedTables, readModelFiles } from '../../src/warehouse/catalog.ts'
import { withoutAbsent } from '../../src/warehouse/endpoint-tables.ts'
import { quoteIdentifier, quoteText } from '../../src/warehouse/sql-text.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { timed, type Took } from './took.ts'

/** @param path a built warehouse; its models are dropped, its titles stay */
export async function plainBuild(path: string): Promise<Took> {
  const warehouse = await openWarehouse({ path, mode: 'write' })
  const { nodes, checks, macros } = await askedOnly(warehouse, await readProject(warehouse))
  const models = nodes.filter(({ computed }) => computed === null)
  await warehouse.run(`set search_path = 'main,detail,service,core'; ${macros}`)
  for (const { schema, name, kind } of models.toReversed()) {
    await warehouse.run(`drop ${kind} ${schema}.${quoteIdentifier(name)}`)
  }
  // Closing writes the tables into the file, as the commit of a build does.
  return timed(async () => {
    for (const { schema, name, kind, sql, storedSql } of models) {
      const select = kind === 'view' ? storedSql : sql
      await warehouse.run(
        `create or replace ${kind} ${schema}.${quoteIdentifier(name)} as\n${select}`,
      )
    }
    for (const { sql } of checks) {
      await warehouse.number(`select count(*) from (${sql})`)
    }
    warehouse.close()
  })
}

export async function plainCopy(warehouse: Warehouse, folder: string): Promise<Took> {
  mkdirSync(folder, { recursive: true })
  return timed(async () => {
    for (const { name, key } of await withoutAbsent(warehouse, publishedTables(readModelFiles()))) {
      const file = join(folder, `${name}.parquet`)
      const order = key.map(quoteIdentifier).join(', ')
      await warehouse.run(
        `copy (from ${quoteIdentifier(name)} order by ${order}) to ${quoteText(file)} (format parquet, compression zstd)`,
      )
      await pipeline(createReadStream(file), createHash('sha256'))
    }
  })
}
