/** A report by organisation as a folder: an index, and a small page of each organisation, for its owner alone. */

import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { OWNER_ONLY, fsyncDirectory, isFile, makeFolder } from '../support/atomic-file.ts'
import { ConfigError, onDisk } from '../support/errors.ts'
import { sha256Hex } from '../support/hash.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { isPage } from './document.ts'
import {
  INDEX_TITLE,
  indexFile,
  indexPage,
  organizationPage,
  type IndexLine,
} from './organization-pages.ts'
import { readByOrganization, type ReportHead } from './read-report.ts'
import type { ReportRequest } from './write-report.ts'

const LINES_OF_PAGE = 500
/** Organisations that are read at once: of a year, their changes are to fit into memory. */
const READ_AT_ONCE = 250
const PAGES = 'organizations'
const OURS = /^(?:index(?:-\d+)?\.html|organizations)$/

export interface FolderWritten {
  readonly head: ReportHead
  /** How many organisations there are, and how many have a page. */
  readonly organizations: number
  readonly pages: number
  readonly bytes: number
}

/**
 * Writes the folder under a temporary name and renames it into place, replacing an older one.
 * @param onPage called after each organisation
 * @throws ConfigError when something else than such a folder was there
 * @throws StorageError when the disk refuses
 */
export async function writeReportFolder(
  warehouse: Warehouse,
  { window, list, path, writtenAt }: ReportRequest,
  onPage: (done: number, all: number) => void,
): Promise<FolderWritten> {
  refuseForeignFolder(path)
  const { head, organizations, read } = await readByOrganization(warehouse, { window, list })
  const temporary = `${path}.${process.pid}.new`
  try {
    onDisk(temporary, () => {
      rmSync(temporary, { recursive: true, force: true })
      makeFolder(dirname(path))
      mkdirSync(join(temporary, PAGES), { recursive: true, mode: 0o700 })
    })
    let bytes = 0
    const write = (file: string, page: string) => {
      bytes += Buffer.byteLength(page)
      onDisk(join(path, file), () =>
        writeFileSync(join(temporary, file), page, { mode: OWNER_ONLY }),
      )
    }
    const lines: IndexLine[] = []
    for (let from = 0; from < organizations.length; from += READ_AT_ONCE) {
      const some = organizations.slice(from, from + READ_AT_ONCE)
      const found = await read(some.map((one) => one.organization_id))
      for (const one of some) {
        const { organization_id: id } = one
        const line = { ...one, address: addressOf(id), months: found.trends.get(id) ?? [] }
        const index = `../${indexFile(Math.floor(lines.length / LINES_OF_PAGE) + 1)}`
        const data = { ...line, changes: found.changes.get(id) ?? [], index }
        write(line.address, organizationPage(data, head, writtenAt))
        lines.push(line)
        onPage(lines.length, organizations.length)
      }
    }
    const pages = Math.max(1, Math.ceil(lines.length / LINES_OF_PAGE))
    const collator = new Intl.Collator('en')
    const byName =
      pages === 1 ? [] : lines.toSorted((a, b) => collator.compare(a.organization, b.organization))
    for (let page = 1; page <= pages; page += 1) {
      const own = lines.slice((page - 1) * LINES_OF_PAGE, page * LINES_OF_PAGE)
      const part = { lines: own, page, pages, byName: page === 1 ? byName : [] }
      write(indexFile(page), indexPage(head, part, writtenAt))
    }
    onDisk(path, () => place(temporary, path))
    return { head, organizations: organizations[0]?.organizations ?? 0, pages: lines.length, bytes }
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

/** The file of an organisation: its id where that can be a name, also where capitals are small letters. */
function addressOf(id: string): string {
  return `${PAGES}/${/^[a-z0-9_-]{1,64}$/.test(id) ? id : sha256Hex(id).slice(0, 32)}.html`
}

function place(temporary: string, path: string): void {
  const old = `${temporary}.old`
  if (existsSync(path)) renameSync(path, old)
  renameSync(temporary, path)
  fsyncDirectory(dirname(path))
  rmSync(old, { recursive: true, force: true })
}

function refuseForeignFolder(path: string): void {
  if (!existsSync(path)) return
  const index = join(path, indexFile(1))
  const names = isFile(path) ? null : onDisk(path, () => readdirSync(path))
  const isEmpty = names?.length === 0
  const isOurs = names?.every((name) => OURS.test(name)) === true && isFile(index)
  if (isEmpty || (isOurs && isPage(readFileSync(index, 'utf8'), INDEX_TITLE))) return
  throw new ConfigError(`${path} exists and is not a folder of reports of Jobtide`, {
    hint: 'Name another folder, or move that one away. Nothing was changed.',
  })
}
