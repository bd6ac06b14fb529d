/**
 * Does the work of a Spark job without Spark: `node stand-in-job.mjs <warehouse> <pace> <address of job.json>` copies
 * the tables that the job asks for from a warehouse that DuckDB built, each as one file, and writes the result last.
 * After each table it waits `pace` milliseconds. With STAND_IN_DIES_AFTER_MS it dies after that many milliseconds.
 */

import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { DuckDBInstance } from '@duckdb/node-api'

const lifeMs = process.env.STAND_IN_DIES_AFTER_MS
if (lifeMs !== undefined) setTimeout(() => process.kill(process.pid, 'SIGKILL'), Number(lifeMs))

const [, , warehouse, pace, address] = process.argv
const work = dirname(fileURLToPath(address))
const destination = join(work, '..', '..')
const job = JSON.parse(readFileSync(fileURLToPath(address), 'utf8'))
const id = job.snapshot_id

const instance = await DuckDBInstance.create(warehouse, { access_mode: 'READ_ONLY', threads: '1' })
const connection = await instance.connect()
await connection.run(`set search_path = 'main,detail,service,core'`)

async function write({ name, columns }) {
  const key = `work/${id}/files/${name}/part-0.parquet`
  const path = join(destination, key)
  mkdirSync(dirname(path), { recursive: true })
  const names = columns.map((column) => `"${column.name}"`).join()
  const ids = columns.map((column) => `"${column.name}": ${column.field_id}`).join()
  await connection.run(
    `copy (select ${names} from ${name}) to '${path}' (format parquet, field_ids {${ids}})`,
  )
  const nullsOf = columns.map(({ name: of }) => `count(*) - count("${of}") as "${of}"`).join()
  const counted = await connection.runAndReadAll(
    `select count(*) as row_count, 'spark-0:' || coalesce(sum(hash(row)), 0) as fingerprint, ${nullsOf} from read_parquet('${path}') as row`,
  )
  const { row_count: rows, fingerprint, ...nulls } = counted.getRowObjectsJS()[0]
  const bytes = readFileSync(path)
  const file = {
    key,
    rows: Number(rows),
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    min: {},
    max: {},
    nulls: Object.fromEntries(
      Object.entries(nulls)
        .map(([of, count]) => [of, Number(count)])
        .filter(([, count]) => count > 0),
    ),
  }
  return { name, partitions: [{ name: 'all', rows: file.rows, fingerprint, files: [file] }] }
}

const tables = []
for (const model of job.models.filter(({ stored }) => stored === 'published')) {
  tables.push(await write(model))
  await pause(Number(pace))
}
const result = {
  format: job.format,
  snapshot_id: id,
  spark: 'none: a stand-in',
  seconds: {},
  checks: job.checks.map(({ name }) => ({ name, offenders: 0, sample: [] })),
  tables,
}
mkdirSync(join(work, 'result'))
writeFileSync(join(work, 'result', 'part-0'), JSON.stringify(result))
