/** Reads a list of organisations as its file has it: text, or Parquet. */

import { basename, extname } from 'node:path'
import { columnsOf, parseOrganizations, type OrganizationList } from '../plan/organizations.ts'
import { readNamedFile } from '../support/atomic-file.ts'
import { ConfigError, messageOf } from '../support/errors.ts'
import { SqlError } from '../warehouse/errors.ts'
import { quoteIdentifier, quotePath } from '../warehouse/sql-text.ts'
import { withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'

export const CHECK_PATH = 'Check the path: in a pipeline file it is relative to that file.'

/** Reads a list of organisations, of any kind. @throws ConfigError naming file and line */
export async function readOrganizations(file: string): Promise<OrganizationList> {
  const bytes = readNamedFile('list of organisations', file, CHECK_PATH)
  if (lastRead?.file !== file || !lastRead.bytes.equals(bytes)) {
    const isParquet = extname(file).toLowerCase() === '.parquet'
    const text = isParquet ? Buffer.from(await parquetAsCsv(file)) : bytes
    lastRead = { file, bytes, list: parseOrganizations(text, basename(file)) }
  }
  return lastRead.list
}

/** A run looks at its list several times, and it may be long. */
let lastRead: { file: string; bytes: Buffer; list: OrganizationList } | null = null

const COLUMNS = ['organization_id', 'company_url'] as const

// The columns we know as CSV text, under their own names, so that one parser judges every kind of list.
async function parquetAsCsv(file: string): Promise<string> {
  const source = `read_parquet(${quotePath(file)})`
  const read = async (engine: Warehouse) => {
    const { columns } = await engine.table(`select * from ${source} limit 0`)
    const names = columns.map(({ name }) => name)
    const wanted = COLUMNS.flatMap((column) => columnsOf(names, column)).map(
      (at) => names[at] ?? '',
    )
    if (wanted.length === 0) {
      throw new ConfigError(
        `${file}: no column organization_id or company_url; found: ${names.join(', ')}`,
        { hint: 'Name one of its columns organization_id or company_url. Nothing was sent.' },
      )
    }
    const cells = wanted.map((name) => `cast(${quoteIdentifier(name)} as varchar)`).join(', ')
    const { rows } = await engine.table(`select ${cells} from ${source}`)
    const quote = (cell: unknown) =>
      `"${(typeof cell === 'string' ? cell : '').replaceAll('"', '""')}"`
    const header = wanted.map(quote).join(',')
    // A row without both is not a blank line: its other columns may name an organisation.
    return [`row,${header}`, ...rows.map((row) => ['row', ...row.map(quote)].join(','))].join('\n')
  }
  return withWarehouse({ path: ':memory:', mode: 'write' }, read).catch((error: unknown) => {
    if (!(error instanceof SqlError)) throw error
    // The other lines show our SQL.
    const [first = ''] = messageOf(error).split('\n')
    throw new ConfigError(`${file}: not a list of organisations: ${first}`, {
      hint: 'Use a Parquet file with a column organization_id or company_url, or a CSV file.',
      cause: error,
    })
  })
}
