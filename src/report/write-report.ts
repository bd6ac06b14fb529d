/** The report for managers as one self-contained page, readable by its owner alone. */

import { OWNER_ONLY, writeFileAtomic } from '../support/atomic-file.ts'
import { countText, numberText, sum } from '../support/numbers.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import {
  html,
  htmlDocument,
  refuseForeignPage,
  shown,
  transfersText,
  WORDS,
  type Content,
  type Html,
} from './html.ts'
import { answerPart, figuresPart, footer } from './parts.ts'
import {
  NOT_READ_BEFORE,
  readReport,
  type ListedOrganization,
  type ReportData,
} from './read-report.ts'
import type { Count } from './rows.ts'
import {
  attritionSection,
  burstsSection,
  coverageSection,
  flowsSection,
  organizationsSection,
  peopleSections,
  trendsSection,
  weeksSection,
} from './sections.ts'
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

export function reportPage(data: ReportData, writtenAt: number): string {
  const window = windowText(data.window)
  const transfers = transfersText(data.counts)
  const body = html`<a class="skip" href="#main">Skip to the content</a>
    <header>
      <h1>Job changes</h1>
      <p class="lead">${window}${scopeText(data)}</p>
      ${answerPart(data)} ${warnings(data)}
      <nav aria-label="Sections">
        <ul>
          ${SECTIONS.map(([id, text]) => html`<li><a href="#${id}">${text}</a></li>`)}
        </ul>
      </nav>
    </header>
    <main id="main">
      ${figures(data)} ${transfers !== null && html`<p class="note">${transfers}.</p>`}
      ${attritionSection(data)} ${trendsSection(data)} ${weeksSection(data)} ${burstsSection(data)}
      ${flowsSection(data)}
      <div class="filter" role="group" aria-label="Filter" hidden>
        <label
          >Organisation
          <select>
            <option value="">All</option>
          </select></label
        ><label><input type="checkbox" /> Directors and above only</label
        ><output aria-live="polite"></output>
      </div>
      ${organizationsSection(data)} ${peopleSections(data)} ${coverageSection(data)}
    </main>
    ${footer(
      writtenAt,
      `The period is the time in which a change became known first, not that in which it happened:
      each line shows both. Many changes are dated to the month only. Levels, such as director, are
      read from titles. Side roles, such as a seat on a board, and transfers are not counted.`,
      'This page names people. It is a copy: what is erased later stays in it wherever it was sent or moved.',
    )}`
  return htmlDocument({ title: `${TITLE}${window}`, styles: ['page.css'], script: 'page.js', body })
}

const TITLE = 'Job changes, '

const SECTIONS = [
  ['attrition', 'Attrition'],
  ['trends', 'Trends'],
  ['weeks', 'Week by week'],
  ['bursts', 'Bursts and layoffs'],
  ['flows', 'Flows'],
  ['organizations', 'Organisations'],
  ['joined', 'Who joined'],
  ['left', 'Who left'],
  ['rose', 'Who was promoted'],
  ['coverage', 'Freshness and cost'],
] as const

function scopeText({ scope, coverage }: ReportData): string {
  const [first] = coverage
  const watched = first?.organizations ?? 0
  return scope === null
    ? ` · ${countText(watched, 'organisation')}`
    : ` · ${countText(scope.listed - scope.unknown.length, 'organisation')} of a list`
}

function warnings({ scope, coverage }: ReportData): Content {
  const [first] = coverage
  const missing = (first?.organizations ?? 0) - (first?.whole ?? 0)
  return [
    missing > 0 &&
      html`<p class="warning">
        ${countText(missing, 'organisation')} of ${numberText(first?.organizations ?? 0)}
        ${missing === 1 ? 'was' : 'were'} not fetched for the whole period, so changes may be
        missing.
        <a href="#coverage">Which</a>
      </p>`,
    scope !== null &&
      scope.unknown.length > 0 &&
      html`<p class="warning">
        Nothing is known of ${countText(scope.unknown.length, 'organisation')} of the list:
        ${scope.unknown
          .slice(0, 10)
          .map((one) => shown(one))
          .join(', ')}${scope.unknown.length > 10 && ' …'}
      </p>`,
  ]
}

function figures({ counts }: ReportData): Html {
  const labels = { joined: 'Joined', left: 'Left', rose: 'Promoted' }
  return figuresPart([
    ...counts.map((one) => {
      const { change: kind, changes: value } = one
      return { kind, label: labels[kind], value, aside: before(one) }
    }),
    {
      label: 'Directors and above',
      value: sum(counts.map((one) => one.executives)),
      aside: counts.map((one) => `${numberText(one.executives)} ${WORDS[one.change]}`).join(', '),
    },
  ])
}

function before({ changes, changes_before: earlier }: Count): string {
  if (earlier === null) return NOT_READ_BEFORE
  if (changes === earlier) return 'as many as before'
  return `${changes > earlier ? '▲' : '▼'} from ${numberText(earlier)}`
}
