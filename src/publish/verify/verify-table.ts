/**
 * One table of a snapshot against what the manifest says of it: its deletion vector, each of its files, and what the files
 * add up to. One file is here at a time. What a file must be is a list of checks that one scan answers.
 */

import { messageOf } from '../../support/errors.ts'
import { sum } from '../../support/numbers.ts'
import { quoteIdentifier, quoteText } from '../../warehouse/sql-text.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import { fetchObject, type NamedObject } from '../fetch-files.ts'
import type { FileCache } from '../file-cache.ts'
import type { Manifest, ManifestFile, ManifestTable } from '../manifest.ts'
import { engineVersion, fingerprintOf, rowHashSql, type RowHashes } from '../partitions.ts'
import type { FindingKind, Report } from './verify-findings.ts'

/** What the verification of a table works with. */
export interface VerifyWork {
  /** In memory. */
  readonly warehouse: Warehouse
  readonly files: FileCache
  readonly report: Report
  /** Called after each file. */
  readonly onFile: (file: ManifestFile) => void
  readonly signal: AbortSignal | undefined
}

/** The rows that the deletion vector of the table names; filled until the next table is verified. */
const DELETED = 'temp.verified_deletes'
const KEYS = 'temp.verified_keys'

/** @returns false when the deletion vector could not be read; that is reported */
export async function verifyTable(
  work: VerifyWork,
  table: ManifestTable,
  versions: Manifest['versions'],
): Promise<boolean> {
  const { warehouse, signal, onFile } = work
  await warehouse.run(`
    create or replace temp table ${DELETED} (file varchar, position bigint);
    create or replace temp table ${KEYS} (hash_a ubigint, hash_b ubigint)`)
  const isVectorKnown = await verifyDeletionVector(work, table)
  const hashes: (RowHashes & { readonly partition: string })[] = []
  let areAllRead = isVectorKnown
  for (const file of table.files) {
    signal?.throwIfAborted()
    const canCount = isVectorKnown || file.deletes === 0
    const found = await verifyFile(work, table, file, canCount)
    if (found === null) areAllRead = false
    else hashes.push({ ...found, partition: file.partition })
    onFile(file)
  }
  // Sums over files of which some cannot be read would only repeat that.
  if (!areAllRead) return isVectorKnown
  const wrong = (kind: FindingKind, object: string, message: string) =>
    work.report({ kind, table: table.name, object: `tables/${table.name}/${object}`, message })
  const [keys] = await warehouse.all<{ repeated: bigint }>(
    `select count(*) as repeated from (select 1 from ${KEYS} group by hash_a, hash_b having count(*) > 1)`,
  )
  const repeated = Number(keys?.repeated)
  if (repeated > 0) {
    wrong('key', '', `${repeated} keys (${table.key.join(', ')}) stand in more than one row`)
  }
  const isSameEngine = (await engineVersion(warehouse)) === versions.duckdb
  for (const { name, rows, fingerprint } of table.partitions) {
    const own = hashes.filter(({ partition }) => partition === name)
    const live = sum(own.map((file) => file.rows))
    if (live !== rows) {
      wrong('rows', `${name}/`, `it has ${live} rows that count where ${rows} belong`)
    } else if (isSameEngine && fingerprintOf(own) !== fingerprint) {
      wrong('fingerprint', `${name}/`, 'its rows are not those that were published')
    }
  }
  return true
}

/** What must be true of a file: an aggregate over its rows has this value. */
interface Check {
  readonly kind: FindingKind
  readonly sql: string
  readonly value: number
  /** One sentence about another value. */
  readonly message: (found: number) => string
}

async function verifyFile(
  work: VerifyWork,
  table: ManifestTable,
  file: ManifestFile,
  canCount: boolean,
): Promise<RowHashes | null> {
  const { warehouse, report } = work
  const wrong = (kind: FindingKind, message: string) =>
    report({ kind, table: table.name, object: file.key, message })
  return readObject(work, table, file, async (path) => {
    const problems = await columnProblems(warehouse, table, path)
    for (const problem of problems) wrong('columns', problem)
    if (problems.length > 0) return null
    // Only now it is known that the manifest's words for the types are those of the engine.
    const checks = [...fileChecks(table, file), ...(canCount ? liveChecks(table, file) : [])]
    const rows = scanSql(table, file, path)
    const hash = rowHashSql(table.schema)
    const [found] = await warehouse.all<Record<string, bigint>>(
      `select ${checks.map(({ sql }, at) => `${sql} as check_${at}`).join(', ')},
         count(*) filter (where ${LIVE}) as live, bit_xor(${hash}) filter (where ${LIVE}) as xor_hash,
         sum(${hash}) filter (where ${LIVE}) as sum_hash
       from (${rows})`,
    )
    for (const [at, { kind, value, message }] of checks.entries()) {
      const own = Number(found?.[`check_${at}`])
      if (own !== value) wrong(kind, message(own))
    }
    if (!canCount) return null
    if (isKeyShared(table, file)) {
      const [a, b] = [table.key, table.key.toReversed()].map(hashOf)
      await warehouse.run(`insert into ${KEYS} select ${a}, ${b} from (${rows}) where ${LIVE}`)
    }
    const { live, xor_hash: xor, sum_hash: total } = found ?? {}
    return { rows: Number(live), xor: xor ?? 0n, sum: total ?? 0n }
  })
}

// Names with a space: no column of a table has one.
const LIVE = '"is live"'
const before = (at: number) => `"before ${at}"`

/** The rows of a file, each with the key of the row before it and whether it is live. */
function scanSql({ key }: ManifestTable, file: ManifestFile, path: string): string {
  const lags = key.map((name, at) => `lag(${quoteIdentifier(name)}) over () as ${before(at)}`)
  const live =
    file.deletes === 0
      ? 'true'
      : `file_row_number not in (select position from ${DELETED} where file = ${quoteText(file.sha256)})`
  return `select *, ${live} as ${LIVE} from (select *, ${lags.join(', ')}
    from read_parquet(${quoteText(path)}, hive_partitioning = false, file_row_number = true))`
}

function fileChecks({ key, schema }: ManifestTable, file: ManifestFile): Check[] {
  const own = `row(${key.map(quoteIdentifier).join(', ')})`
  const last = `row(${key.map((_, at) => before(at)).join(', ')})`
  const said = [file.min, file.max, file.nulls].flatMap((of) => Object.keys(of))
  const unknown = said.filter((name) => schema.every((column) => column.name !== name))
  return [
    expected('rows', 'count(*)', file.rows, (n) => `it has ${n} rows where ${file.rows} belong`),
    none('order', `${before(0)} is not null and ${last} > ${own}`, 'come after a larger key'),
    none('key', `${last} = ${own}`, 'have the key of the row before them'),
    ...schema.map(({ name }) => {
      const nulls = file.nulls[name] ?? 0
      const sql = `count(*) filter (where ${quoteIdentifier(name)} is null)`
      return expected(
        'statistics',
        sql,
        nulls,
        (n) => `${name} has ${n} nulls where ${nulls} belong`,
      )
    }),
    ...schema.flatMap((column) => boundChecks(column, file)),
    ...unknown.map((name) =>
      expected('statistics', '0', 1, () => `the manifest bounds ${name}, no column of it`),
    ),
  ]
}

function liveChecks({ key, partition_by: split }: ManifestTable, file: ManifestFile): Check[] {
  const live = file.rows - file.deletes
  const isNull = key.map((name) => `${quoteIdentifier(name)} is null`).join(' or ')
  const year = /_year=(-?\d+)$/.exec(file.partition)?.[1] ?? 'null'
  const isStray =
    split === null ? 'false' : `year(${quoteIdentifier(split.column)}) is distinct from ${year}`
  return [
    expected('rows', `count(*) filter (where ${LIVE})`, live, (n) => {
      return `${n} of its rows count where ${live} should`
    }),
    none('key', `${LIVE} and (${isNull})`, 'have no whole key'),
    none('partition', `${LIVE} and ${isStray}`, `do not belong to ${file.partition}`),
  ]
}

function expected(kind: FindingKind, sql: string, value: number, message: Check['message']): Check {
  return { kind, sql, value, message }
}

function none(kind: FindingKind, condition: string, what: string): Check {
  return expected(kind, `count(*) filter (where ${condition})`, 0, (n) => `${n} rows ${what}`)
}

// Bounds of longer text are cut at 256 bytes: they hold, but are not values of the column.
const LONGEST_EXACT_BYTES = 250

function boundChecks({ name, type }: ManifestTable['schema'][number], file: ManifestFile): Check[] {
  const column = quoteIdentifier(name)
  // The bounds of Parquet leave out what is not a number.
  const numbers = /^(?:DOUBLE|FLOAT)$/.test(type) ? ` filter (where not isnan(${column}))` : ''
  return (['min', 'max'] as const).flatMap((side) => {
    const text = file[side][name]
    if (text === undefined) return []
    const actual = `${side}(${column})${numbers}`
    const said = `try_cast(${quoteText(text)} as ${type})`
    const holds = `${said} ${side === 'min' ? '<=' : '>='} ${actual} and strlen(${actual}) > ${LONGEST_EXACT_BYTES}`
    const isRight = `${said} is not distinct from ${actual}${type === 'VARCHAR' ? ` or (${holds})` : ''}`
    const message = `the ${side === 'min' ? 'smallest' : 'largest'} ${name} is not the one of the manifest`
    return [
      expected('statistics', `cast(coalesce(${isRight}, false) as integer)`, 1, () => message),
    ]
  })
}

async function columnProblems(
  warehouse: Warehouse,
  { schema }: ManifestTable,
  path: string,
): Promise<string[]> {
  const found = await warehouse.all<{ name: string; type: string; id: bigint | null }>(
    `select column_name as name, column_type as type, field_id as id
     from (describe select * from read_parquet(${quoteText(path)}, hive_partitioning = false))
     left join parquet_schema(${quoteText(path)}) on name = column_name and field_id is not null`,
  )
  const names = (of: readonly { readonly name: string }[]) => of.map(({ name }) => name).join(', ')
  if (names(found) !== names(schema)) {
    return [`its columns are ${names(found)} where ${names(schema)} belong`]
  }
  return schema.flatMap(({ name, type, field_id: id }, at) => {
    const own = found[at]
    if (own?.type !== type) return [`${name} is ${own?.type} where ${type} belongs`]
    if (Number(own.id) === id) return []
    return [`${name} has the field id ${own.id} where ${id} belongs`]
  })
}

/** Whether another file could hold the same key; not when the key says in which partition a row is. */
function isKeyShared({ files, key, partition_by: split }: ManifestTable, file: ManifestFile) {
  const isSplit = split !== null && key.includes(split.column)
  return files.some((one) => one !== file && (!isSplit || one.partition === file.partition))
}

function hashOf(columns: readonly string[]): string {
  return `hash(${columns.map(quoteIdentifier).join(', ')}, 'key')`
}

/** Reads the deletion vector into `DELETED`; the live rows of each file tell whether it names the right ones. */
async function verifyDeletionVector(work: VerifyWork, table: ManifestTable): Promise<boolean> {
  const { deletion_vector: vector } = table
  if (vector === null) return true
  const { warehouse } = work
  const named = await readObject(work, table, vector, async (path) => {
    await warehouse.run(
      `insert into ${DELETED} select file, position from read_parquet(${quoteText(path)}, hive_partitioning = false)`,
    )
    const [counted] = await warehouse.all<{ named: bigint }>(
      `select count(*) as named from ${DELETED}`,
    )
    return Number(counted?.named)
  })
  if (named !== null && named !== vector.rows) {
    const message = `it names ${named} rows where ${vector.rows} belong`
    work.report({ kind: 'rows', table: table.name, object: vector.key, message })
  }
  return named !== null
}

/** Reads an object whose bytes are proved; null when that cannot be, which is reported. */
async function readObject<T>(
  { files, report }: VerifyWork,
  { name: table }: ManifestTable,
  object: NamedObject,
  read: (path: string) => Promise<T | null>,
): Promise<T | null> {
  const fetched = await fetchObject(files, object)
  try {
    if (fetched.kind === 'whole') return await read(fetched.path)
    report({ ...fetched, table, object: object.key })
  } catch (error) {
    const message = `it cannot be read: ${messageOf(error).split('\n', 1)[0]}`
    report({ kind: 'unreadable', table, object: object.key, message })
  } finally {
    files.keepOnly([])
  }
  return null
}
