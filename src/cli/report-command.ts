/** `report`: writes one page of the changes that became known in a window, for readers without SQL. */

import { join, parse, relative, resolve } from 'node:path'
import { QUESTION, answerOf } from '../report/answer.ts'
import { OF_DIRECTORS, missingTexts, unknownTexts } from '../report/digest.ts'
import { transfersText } from '../report/format.ts'
import type { ReportHead } from '../report/read-report.ts'
import { chosenWindow, windowName, windowText, type WindowChoice } from '../report/window.ts'
import { writeReportFolder } from '../report/write-folder.ts'
import { writeReport, type ReportRequest } from '../report/write-report.ts'
import { refuseFileName, refuseOwnPlace } from '../run/data-directory.ts'
import { tellSkipped } from '../plan/skipped-lines.ts'
import { readOrganizations } from '../run/organizations-file.ts'
import { countText, numberText } from '../support/numbers.ts'
import type { Context } from './context.ts'
import { bytesText, type Report } from './report.ts'
import { whileReading } from './reading.ts'

export interface ReportOptions extends WindowChoice {
  readonly organizations?: string
  readonly by?: 'organization'
  readonly out?: string
}

export async function reportCommand(context: Context, options: ReportOptions): Promise<Report> {
  const { clock, directory } = context
  const now = clock.now()
  const window = chosenWindow(options, now)
  const file = options.organizations
  const read = file === undefined ? null : await readOrganizations(file)
  tellSkipped(context.logger, read?.skipped ?? [])
  const list = read?.organizations ?? null
  // A list has its own pages, so they do not replace those of all organisations.
  const ofList = file === undefined ? '' : `-${parse(file).name}`
  const isFolder = options.by !== undefined
  const name = `${windowName(window)}${ofList}${isFolder ? '-by-organization' : '.html'}`
  const path = resolve(options.out ?? join(directory.reports, name))
  refuseOwnPlace(directory.root, path, 'a report', { allowed: directory.reports })
  if (isFolder) refuseFileName('--out', path, 'Name a folder, or leave out --by.')
  if (isFolder) return writeFolder(context, { window, list, path, writtenAt: now })
  const { data, bytes } = await whileReading(context, (warehouse) =>
    writeReport(warehouse, { window, list, path, writtenAt: now }),
  )
  const counts = Object.fromEntries(data.counts.map((one) => [one.change, one]))
  const transfers = transfersText(data.counts)
  const figure = (change: string) => {
    const { changes = 0, executives = 0 } = counts[change] ?? {}
    return `${numberText(changes)}, ${numberText(executives)} ${OF_DIRECTORS}`
  }
  return {
    title: `report of ${windowText(window)}`,
    sections: [
      [
        [QUESTION, answerOf(data)],
        ['joined', figure('joined')],
        ['left', figure('left')],
        ['promoted', figure('rose')],
        transfers !== null && ['transfers', transfers],
        ['page', placeText(path, bytes)],
      ],
    ],
    notes: notesOf(data, directory.root, path),
    values: { path, bytes, pages: 1, ...valuesOf(data) },
  }
}

/** The report by organisation. */
async function writeFolder(context: Context, request: ReportRequest): Promise<Report> {
  const { directory, stop } = context
  const { window, path } = request
  const { head, organizations, pages, bytes } = await whileReading(context, (warehouse) =>
    writeReportFolder(warehouse, request, (done, total) => {
      stop.throwIfAborted()
      context.progress.show({ stage: 'report', done, total })
    }),
  )
  const some = pages < organizations ? `the first ${numberText(pages)} of ` : ''
  return {
    title: `report by organisation of ${windowText(window)}`,
    sections: [
      [
        [QUESTION, answerOf(head)],
        ['pages', `${some}${countText(organizations, 'organisation')}`],
        ['index', placeText(join(path, 'index.html'), bytes)],
      ],
    ],
    notes: [
      ...(some === '' ? [] : ['The others have no page: name them with --organizations.']),
      ...notesOf(head, directory.root, path),
    ],
    values: { path, bytes, pages, ...valuesOf(head) },
  }
}

function placeText(path: string, bytes: number): string {
  const below = relative(process.cwd(), path)
  return `${below.startsWith('..') ? path : below} (${bytesText(bytes)})`
}

function notesOf(head: ReportHead, root: string, path: string): string[] {
  const isOutside = relative(root, path).startsWith('..')
  return [
    ...missingTexts(head),
    ...unknownTexts(head),
    ...(isOutside ? ['The page names people: `jobtide forget` does not reach this copy.'] : []),
  ]
}

function valuesOf(head: ReportHead) {
  const { window, year, counts, scope } = head
  return {
    fromAt: new Date(window.from),
    toAt: new Date(window.to),
    year,
    answer: answerOf(head),
    changes: counts,
    unknownOrganizations: scope?.unknown ?? [],
  }
}
