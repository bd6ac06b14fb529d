/** Writes a report by organisation as a private folder: an index, and a small page for each organisation. */

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
import { countText, numberText } from '../support/numbers.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import {
  html,
  htmlDocument,
  isPage,
  name,
  percentText,
  shown,
  signed,
  type Content,
} from './html.ts'
import {
  answerPart,
  column,
  dataTable,
  figure,
  figuresPart,
  footer,
  section,
  type Column,
} from './parts.ts'
import { readByOrganization, type ReportHead } from './read-report.ts'
import type { Change, OrganizationChanges, TrendMonth } from './rows.ts'
import { changesColumns, multiples, peopleSections } from './sections.ts'
import { windowText } from './window.ts'
import type { ReportRequest } from './write-report.ts'

/** Organisations that are read at once: their changes of a year must fit into memory. */
const READ_AT_ONCE = 250
const PAGES = 'organizations'
const INDEX = 'index.html'
// Up to 0.20 a long index had more pages.
const OURS = /^(?:index(?:-\d+)?\.html|organizations)$/

/**
 * Writes the folder under a temporary name and renames it into place, replacing an older one.
 * @param onPage called after each organisation
 * @returns the summary, how many organisations there are, how many have a page, and the bytes of all pages
 * @throws ConfigError when something else than such a folder was there
 * @throws StorageError when the disk refuses
 */
export async function writeReportFolder(
  warehouse: Warehouse,
  { window, list, path, writtenAt }: ReportRequest,
  onPage: (done: number, all: number) => void,
) {
  refuseForeignFolder(path)
  const { head, organizations, read } = await readByOrganization(warehouse, window, list)
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
        const changes = found.changes.get(id) ?? []
        write(line.address, organizationPage(line, changes, head, writtenAt))
        lines.push(line)
        onPage(lines.length, organizations.length)
      }
    }
    write(INDEX, indexPage(head, lines, writtenAt))
    onDisk(path, () => place(temporary, path))
    return { head, organizations: organizations[0]?.organizations ?? 0, pages: lines.length, bytes }
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

/** The file of an organisation: its id, if that is a valid name even on file systems that ignore case. */
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
  const index = join(path, INDEX)
  const names = isFile(path) ? null : onDisk(path, () => readdirSync(path))
  const isEmpty = names?.length === 0
  const isOurs = names?.every((name) => OURS.test(name)) === true && isFile(index)
  if (isEmpty || (isOurs && isPage(readFileSync(index, 'utf8'), INDEX_TITLE))) return
  throw new ConfigError(`${path} exists and is not a folder of reports of Jobtide`, {
    hint: 'Name another folder, or move that one away. Nothing was changed.',
  })
}

/** How the titles of the index, and of the page of an organisation, begin. */
const INDEX_TITLE = 'Job changes by organisation, '
const PAGE_TITLE = 'Job changes of '

interface IndexLine extends OrganizationChanges {
  /** Relative to the index. */
  readonly address: string
  readonly months: readonly TrendMonth[]
}

function indexPage(head: ReportHead, lines: readonly IndexLine[], writtenAt: number): string {
  const window = windowText(head.window)
  const all = lines[0]?.organizations ?? 0
  const body = html`<header>
      <h1>Job changes by organisation</h1>
      <p class="lead">${window} · ${countText(all, 'organisation')}</p>
      ${answerPart(head)}
    </header>
    <main>
      <section>
        ${dataTable(lines, indexColumns(lines), { caption: INDEX_CAPTION, wide: 'Table of organisations' })}
      </section>
    </main>
    ${footer(writtenAt, ABOUT, COPY)}`
  const title = `${INDEX_TITLE}${window}`
  return htmlDocument({ title, styles: ['page.css'], script: 'page.js', body })
}

const INDEX_CAPTION =
  'Most changes first. The trend is the headcount of two years. The rate is the share that left in twelve months.'
const indexColumns = (lines: readonly IndexLine[]): readonly Column<IndexLine>[] => [
  column(
    'Organisation',
    (one) => html`<a href="${one.address}">${name(one.organization, one.organization_id)}</a>`,
  ),
  ...changesColumns(lines),
  figure('Headcount', ({ months }) => months.at(-1)?.headcount),
  figure('Rate', ({ months }) => months.at(-1)?.rate, percentText),
  column(
    'Trend',
    ({ months }) => sparkline(months.map(({ headcount }) => headcount)),
    ({ months }) => (months.at(-1)?.headcount ?? 0) - (months[0]?.headcount ?? 0),
  ),
]

const [SPARK_WIDTH, SPARK_HEIGHT] = [96, 22]

/** A line from 0 to the highest value; the cells before it have the figures. */
function sparkline(values: readonly number[]): Content {
  if (values.length < 2) return null
  const most = Math.max(1, ...values)
  const points = values.map((value, at) => {
    const x = (at / (values.length - 1)) * SPARK_WIDTH
    return `${x.toFixed(0)} ${(SPARK_HEIGHT - 1 - (value / most) * (SPARK_HEIGHT - 2)).toFixed(1)}`
  })
  return html`<svg width="${SPARK_WIDTH}" height="${SPARK_HEIGHT}" aria-hidden="true">
    <path d="M${points.join('L')}" fill="none" stroke="var(--joined)" stroke-width="1.5" />
  </svg>`
}

function organizationPage(
  one: IndexLine,
  changes: readonly Change[],
  { window, year }: ReportHead,
  writtenAt: number,
): string {
  const { months, executives_joined: joined, executives_left: left } = one
  const counts = [
    { change: 'joined', changes: one.joined },
    { change: 'left', changes: one.went },
    { change: 'rose', changes: one.rose },
  ] as const
  const aside = `${numberText(joined)} joined, ${numberText(left)} left`
  const trend =
    months.length === 0
      ? html`<p>Nothing is known of it yet.</p>`
      : multiples([months], year.month_on)
  const body = html`<header>
      <p class="back"><a href="../${INDEX}">All organisations</a></p>
      <h1>${name(one.organization, one.organization_id)}</h1>
      <p class="lead">${windowText(window)}</p>
      ${figuresPart(counts, { value: joined + left, aside })}
      ${one.transfers !== 0 && html`<p class="note">Transfers, such as an acquisition (${signed(one.transfers)}), count only in the headcount.</p>`}
    </header>
    <main>
      ${section('trend', 'Trend', trend)} ${peopleSections({ changes, counts, scope: null })}
    </main>
    ${footer(writtenAt, ABOUT, COPY)}`
  const title = `${PAGE_TITLE}${shown(one.organization) ?? one.organization_id}, ${windowText(window)}`
  return htmlDocument({ title, styles: ['page.css'], script: null, body })
}

const ABOUT = 'The period is the time in which a change became known first.'
const COPY =
  'This page is a copy: what is erased later stays in it wherever it was sent or moved. Names of people are on the pages of organisations.'
