/** The report for managers as one self-contained page, readable by its owner alone. */

import { OWNER_ONLY, writeFileAtomic } from '../support/atomic-file.ts'
import { countText, numberText, sum } from '../support/numbers.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import {
  html,
  htmlDocument,
  refuseForeignPage,
  transfersText,
  WORDS,
  type Content,
  type Html,
} from './html.ts'
import { missingTexts, unknownTexts } from './digest.ts'
import { answerPart, figuresPart, footer } from './parts.ts'
import {
  NOT_READ_BEFORE,
  readReport,
  type ListedOrganization,
  type ReportData,
} from './read-report.ts'
import type { Count } from './rows.ts'
import { reportSections } from './sections.ts'
import { windowText, type ReportWindow } from './window.ts'

export interface ReportRequest {
  readonly window: ReportWindow
  /** The organisations it is about; null for all. */
  readonly list: readonly ListedOrganization[] | null
  readonly path: string
  /** Milliseconds since 1970. */
  readonly writtenAt: number
}

/**
 * Writes the page, readable by its owner alone, in place of one that was there.
 * @throws ConfigError when something else than a report was there
 * @throws StorageError when the disk refuses
 */
export async function writeReport(
  warehouse: Warehouse,
  { window, list, path, writtenAt }: ReportRequest,
): Promise<{ readonly data: ReportData; readonly bytes: number }> {
  refuseForeignPage(path, 'report of Jobtide', TITLE)
  const data = await readReport(warehouse, window, list)
  const page = Buffer.from(reportPage(data, writtenAt))
  writeFileAtomic(path, page, OWNER_ONLY)
  return { data, bytes: page.length }
}

/** The page as HTML. @param writtenAt milliseconds since 1970 UTC */
export function reportPage(data: ReportData, writtenAt: number): string {
  const window = windowText(data.window)
  const transfers = transfersText(data.counts)
  const { above, below } = reportSections(data)
  const body = html`<a class="skip" href="#main">Skip to the content</a>
    <header>
      <h1>Job changes</h1>
      <p class="lead">${window}${scopeText(data)}</p>
      ${answerPart(data)} ${warnings(data)}
      <nav aria-label="Sections">
        <ul>
          ${[...above, ...below].map(({ id, link }) => html`<li><a href="#${id}">${link}</a></li>`)}
        </ul>
      </nav>
    </header>
    <main id="main">
      ${figures(data)} ${transfers !== null && html`<p class="note">${transfers}.</p>`} ${above}
      <div class="filter" role="group" aria-label="Filter" hidden>
        <label
          >Organisation
          <select>
            <option value="">All</option>
          </select></label
        ><label><input type="checkbox" /> Directors and above only</label
        ><output aria-live="polite"></output>
      </div>
      ${below}
    </main>
    ${footer(
      writtenAt,
      `The period is the time in which a change became known first, not that in which it happened:
      each line shows both. Many changes are dated to the month only. Levels, such as director, are
      read from titles. Side roles, such as a seat on a board, are not counted. Transfers count only in the
      headcount.`,
      'This page names people. It is a copy: what is erased later stays in it wherever it was sent or moved.',
    )}`
  return htmlDocument({ title: `${TITLE}${window}`, styles: ['page.css'], script: 'page.js', body })
}

const TITLE = 'Job changes, '

function scopeText({ scope, coverage }: ReportData): string {
  const [first] = coverage
  const watched = first?.organizations ?? 0
  return scope === null
    ? ` · ${countText(watched, 'organisation')}`
    : ` · ${countText(scope.listed - scope.unknown.length, 'organisation')} of a list`
}

function warnings(data: ReportData): Content {
  return [
    ...missingTexts(data).map(
      (text) => html`<p class="warning">${text}. <a href="#coverage">Which</a></p>`,
    ),
    ...unknownTexts(data).map((text) => html`<p class="warning">${text}</p>`),
  ]
}

function figures({ counts }: ReportData): Html {
  const executives = counts.map((one) => `${numberText(one.executives)} ${WORDS[one.change]}`)
  return figuresPart(
    counts.map((one) => ({ ...one, aside: before(one) })),
    { value: sum(counts.map((one) => one.executives)), aside: executives.join(', ') },
  )
}

function before({ changes, changes_before: earlier }: Count): string {
  if (earlier === null) return NOT_READ_BEFORE
  if (changes === earlier) return 'as many as before'
  return `${changes > earlier ? '▲' : '▼'} from ${numberText(earlier)} in the period before`
}
