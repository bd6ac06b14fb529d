/**
 * `report`: writes one page of the changes that became known in a window, for readers without SQL. `digest`: prints a summary
 * of it in at most 30 lines, for a terminal, a message or a mail.
 */

import { plainText, slackBody } from '../observe/messages.ts'
import { WORDS, transfersText } from '../report/html.ts'
import { join, parse, relative, resolve } from 'node:path'
import { tellSkipped } from '../plan/skipped-lines.ts'
import { QUESTION, answerOf } from '../report/answer.ts'
import {
  DIGEST_CHANGES,
  OF_DIRECTORS,
  headDigest,
  missingTexts,
  unknownTexts,
  type DigestPart,
} from '../report/digest.ts'
import { readHead, type ReportHead } from '../report/read-report.ts'
import { chosenWindow, windowName, windowText } from '../report/window.ts'
import { writeReportFolder } from '../report/write-folder.ts'
import { writeReport, type ReportRequest } from '../report/write-report.ts'
import { refuseFileName, refuseOwnPlace } from '../run/data-directory.ts'
import { readOrganizations } from '../run/organizations-file.ts'
import { EXIT } from '../support/errors.ts'
import { bytesText, countText, numberText } from '../support/numbers.ts'
import { lineText, shellWord, type Line } from '../support/text.ts'
import type { Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import { whileReading } from './reading.ts'
import { facts, type Fact, type Report, type Result } from './report.ts'

/** The window, and the organisations of a list; null for all. */
async function scopeOf(
  { clock, logger }: Context,
  { organizations: file, ...choice }: OptionsOf<'report' | 'digest'>,
) {
  const writtenAt = clock.now()
  const window = chosenWindow(choice, writtenAt)
  const read = file === undefined ? null : await readOrganizations(file)
  tellSkipped(logger, read?.skipped ?? [])
  return { writtenAt, window, list: read?.organizations ?? null }
}

export async function reportCommand(
  context: Context,
  options: OptionsOf<'report'>,
): Promise<Report> {
  const { directory } = context
  const { organizations: file, by, out } = options
  const scope = await scopeOf(context, options)
  // A list has its own pages, so they do not replace those of all organisations.
  const ofList = file === undefined ? '' : `-${parse(file).name}`
  const isFolder = by !== undefined
  const name = `${windowName(scope.window)}${ofList}${isFolder ? '-by-organization' : '.html'}`
  const path = resolve(out ?? join(directory.reports, name))
  refuseOwnPlace(directory.root, path, 'a report', { allowed: directory.reports })
  const request = { ...scope, path }
  if (isFolder) {
    refuseFileName('--out', path, 'Name a folder, or leave out --by.')
    return writeFolder(context, request)
  }
  const { data, bytes } = await whileReading(context, (warehouse) =>
    writeReport(warehouse, request),
  )
  const figures = data.counts.map(({ change, changes, executives }) => {
    return [WORDS[change], `${numberText(changes)}, ${numberText(executives)} ${OF_DIRECTORS}`]
  })
  const told = facts({
    ...(Object.fromEntries(figures) as Record<string, string>),
    transfers: transfersText(data.counts),
    page: placeText(path, bytes),
  })
  return written(context, request, data, told, { path, bytes, pages: 1 })
}

async function writeFolder(context: Context, request: ReportRequest): Promise<Report> {
  const { stop, progress } = context
  const { path } = request
  const { head, organizations, pages, bytes } = await whileReading(context, (warehouse) =>
    writeReportFolder(warehouse, request, (done, total) => {
      stop.throwIfAborted()
      progress.show({ stage: 'report', done, total, name: countText(done, 'page') })
    }),
  )
  const isSome = pages < organizations
  const some = isSome ? `the first ${numberText(pages)} of ` : ''
  const told = facts({
    pages: `${some}${countText(organizations, 'organisation')}`,
    index: placeText(join(path, 'index.html'), bytes),
  })
  const report = written(context, request, head, told, { path, bytes, pages })
  const others = 'The others have no page: name them with --organizations.'
  return isSome ? { ...report, notes: [others, ...(report.notes ?? [])] } : report
}

function placeText(path: string, bytes: number): string {
  const below = relative(process.cwd(), path)
  return `${below.startsWith('..') ? path : below} (${bytesText(bytes)})`
}

function written(
  { directory }: Context,
  { window, path }: ReportRequest,
  head: ReportHead,
  told: readonly Fact[],
  values: object,
): Report {
  const isOutside = relative(directory.root, path).startsWith('..')
  return {
    title: `report of ${windowText(window)}`,
    sections: [[[QUESTION, answerOf(head)], ...told]],
    notes: [
      ...missingTexts(head),
      ...unknownTexts(head),
      ...(isOutside ? ['The page names people: `jobtide forget` does not reach this copy.'] : []),
    ],
    values: {
      ...values,
      ...windowValues(head),
      year: head.year,
      answer: answerOf(head),
      unknownOrganizations: head.scope?.unknown ?? [],
    },
  }
}

function windowValues({ window, counts }: ReportHead): object {
  return { fromAt: new Date(window.from), toAt: new Date(window.to), changes: counts }
}

export async function digestCommand(
  context: Context,
  options: OptionsOf<'digest'>,
): Promise<Result> {
  const { output, stop } = context
  const { format } = options
  const { window, list } = await scopeOf(context, options)
  const data = await whileReading(context, (warehouse) =>
    readHead(warehouse, window, list, DIGEST_CHANGES),
  )
  const { parts, ...shown } = headDigest(data, reportCommandOf(options))
  const title = `job changes of ${windowText(window)}`
  if (!output.json && format !== 'text') {
    const notice = { subject: title, paragraphs: paragraphsOf(parts) }
    const text =
      format === 'slack'
        ? `${JSON.stringify(slackBody(notice))}\n`
        : `${title}\n\n${plainText(notice.paragraphs)}`
    await output.stream(text, stop)
    return EXIT.done
  }
  return {
    title,
    sections: [parts.map(({ label, lines }) => [label, lines.map(lineText)])],
    values: { ...windowValues(data), ...shown, credits: data.freshness.credits },
  }
}

/** The command that shows the same window, list and data directory as a page. */
function reportCommandOf({ week, dataDir, ...scope }: OptionsOf<'digest'>): string {
  const { days, from, to, organizations } = scope
  const given = { days, from, to, organizations, 'data-dir': dataDir }
  const options = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, shellWord(String(value))],
  )
  return ['jobtide report', ...(week === true ? ['--week'] : []), ...options].join(' ')
}

const headOf = (label: string) => (label.endsWith('?') ? label : `${label}:`)

/** Joins the parts of one line; puts each other part under its label. */
function paragraphsOf(parts: readonly DigestPart[]): Line[][] {
  const single = parts.filter(({ lines }) => lines.length === 1)
  const longer = parts.filter(({ lines }) => lines.length > 1)
  const labelled = single.flatMap(({ label, lines }) =>
    lines.map(({ text, link }) => ({ text: `${headOf(label)} ${text}`, link })),
  )
  return [
    labelled,
    ...longer.map(({ label, lines }) => [{ text: headOf(label), link: null }, ...lines]),
  ]
}
