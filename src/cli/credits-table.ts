/** `credits --by …`: one row for each day, month, pipeline, run or organisation, and what all of them add up to. */

import type { History } from '../journal/history.ts'
import type { RunHistory } from '../journal/run-history.ts'
import { isoInstant } from '../support/clock.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import {
  creditsOfNobody,
  creditsPerNewEvent,
  groupSpending,
  runsIn,
  totalSpending,
  type NewEvents,
  type OrganizationSpending,
  type Scope,
  type Spending,
} from './credits-figures.ts'
import { readNewEvents, readNewEventsOfRuns, readOrganizationSpending } from './credits-queries.ts'
import type { CreditGroup } from './options.ts'
import { creditsText, moreRowsText, namedCompanyText, numberText, tableText } from './text.ts'
import { readWarehouse } from './warehouse-reader.ts'

/** Where figures come from, and which part of them is wanted. */
export interface Ledger {
  readonly history: History
  /** Path of the warehouse. */
  readonly warehouse: string
  readonly scope: Scope
  /** Milliseconds since 1970 UTC. */
  readonly now: number
}

/** A result for people and for programs. */
export interface Shown {
  readonly text: string
  readonly document: Record<string, unknown>
}

/** How the table is to look. */
export interface TableOptions {
  readonly by: CreditGroup
  readonly all: boolean
  /** Characters in a line. */
  readonly columns: number
}

const ROWS_SHOWN = 20

/** What the warehouse adds; a part that the grouping does not need is empty. */
interface Additions {
  readonly newEvents: readonly NewEvents[]
  readonly newEventsOfRuns: ReadonlyMap<string, number>
  readonly organizations: readonly OrganizationSpending[]
}

/** One row: the words that name it, its figures, and the same for programs. */
interface Row {
  readonly names: readonly string[]
  /** Charged, or counted for requests in doubt. */
  readonly credits: number
  readonly pages: number | null
  readonly events: number | null
  readonly newEvents: number | null
  readonly document: Record<string, unknown>
}

/** Credits by `by`. */
export async function creditsTable(ledger: Ledger, options: TableOptions): Promise<Shown> {
  const { by } = options
  const { history, scope } = ledger
  const reading = await readWarehouse(ledger.warehouse, (warehouse) =>
    readAdditions(warehouse, by, scope),
  )
  const additions = reading.kind === 'read' ? reading.value : null
  const days = groupSpending('day', history, additions?.newEvents ?? null, scope)
  const total = totalSpending(days, additions !== null)
  const rows = rowsBy(by, ledger, additions, total)
  const shown = options.all ? rows : rows.slice(0, ROWS_SHOWN)
  const unavailable = reading.kind === 'read' ? null : reading.why
  return {
    document: {
      by,
      pipeline: scope.pipeline,
      since: scope.sinceDay,
      rows: rows.map(({ document }) => document),
      total: spendingDocument(total),
      warehouse: unavailable === null ? null : { unavailable },
    },
    text: [
      tableOf(HEADS[by], [...shown, spendingRow(total)], options.columns),
      ...moreRowsText(shown.length, rows.length),
      ...(unavailable === null ? [] : [`without what was new, and by whom: ${unavailable}`]),
    ].join('\n'),
  }
}

async function readAdditions(
  warehouse: Warehouse,
  by: CreditGroup,
  scope: Scope,
): Promise<Additions> {
  return {
    newEvents: await readNewEvents(warehouse),
    newEventsOfRuns: by === 'run' ? await readNewEventsOfRuns(warehouse) : new Map(),
    organizations: by === 'organization' ? await readOrganizationSpending(warehouse, scope) : [],
  }
}

const HEADS: Readonly<Record<CreditGroup, readonly string[]>> = {
  day: ['day (UTC)'],
  month: ['month (UTC)'],
  pipeline: ['pipeline'],
  run: ['run', 'pipeline'],
  organization: ['organisation'],
}

function rowsBy(
  by: CreditGroup,
  { history, scope }: Ledger,
  additions: Additions | null,
  total: Spending,
): Row[] {
  switch (by) {
    case 'run':
      return runsIn(history, scope).map((run) => runRow(run, additions))
    case 'organization':
      return additions === null ? [] : organizationRows(additions.organizations, total)
    case 'day':
    case 'month':
      return groupSpending(by, history, additions?.newEvents ?? null, scope)
        .toReversed()
        .map(spendingRow)
    case 'pipeline':
      return groupSpending(by, history, additions?.newEvents ?? null, scope).map(spendingRow)
  }
}

function spendingRow(spending: Spending): Row {
  const { name, charged, inDoubt, pages, events, newEvents } = spending
  const document = spendingDocument(spending)
  return { names: [name], credits: charged + inDoubt, pages, events, newEvents, document }
}

function runRow({ started, finished, ...run }: RunHistory, additions: Additions | null): Row {
  const newEvents = additions === null ? null : (additions.newEventsOfRuns.get(started.run_id) ?? 0)
  const { creditsCommitted: credits, pages, events } = run
  return {
    names: [started.run_id, started.pipeline],
    credits,
    pages,
    events,
    newEvents,
    document: {
      run_id: started.run_id,
      pipeline: started.pipeline,
      kind: started.command,
      started_at: isoInstant(started.at),
      outcome: finished?.outcome ?? 'unfinished',
      credits,
      requests: run.requests,
      pages,
      events,
      new_events: newEvents,
      credits_per_new_event: creditsPerNewEvent(credits, newEvents),
    },
  }
}

function organizationRows(organizations: readonly OrganizationSpending[], total: Spending): Row[] {
  const rows = organizations.map(organizationRow)
  const credits = creditsOfNobody(total.charged + total.inDoubt, organizations)
  if (credits === 0) return rows
  const names = ['(nobody: in doubt, or not loaded)']
  const nothing = { pages: null, events: null, newEvents: null }
  return [...rows, { ...nothing, names, credits, document: { organization_id: null, credits } }]
}

function organizationRow(one: OrganizationSpending): Row {
  const { organization_id, asked_as, name, pages, events, new_events, credits } = one
  return {
    names: [namedCompanyText(asked_as, name)],
    credits,
    pages,
    events,
    newEvents: new_events,
    document: {
      organization_id,
      asked_as,
      name,
      credits,
      pages,
      events,
      new_events,
      credits_per_new_event: creditsPerNewEvent(credits, new_events),
    },
  }
}

/** Spending for programs. */
export function spendingDocument(spending: Spending): Record<string, unknown> {
  const { name, charged, inDoubt, requests, pages, events, unexpected, newEvents } = spending
  return {
    name,
    credits: charged + inDoubt,
    charged,
    in_doubt: inDoubt,
    requests,
    pages,
    events,
    new_events: newEvents,
    credits_per_new_event: creditsPerNewEvent(charged + inDoubt, newEvents),
    unexpected_charges: unexpected,
  }
}

/** Spending as a table with these headings for its names. */
export function spendingTable(
  head: string,
  spendings: readonly Spending[],
  columns: number,
): string {
  return tableOf([head], spendings.map(spendingRow), columns)
}

function tableOf(heads: readonly string[], rows: readonly Row[], columns: number): string {
  return tableText(
    [...heads, 'credits', 'pages', 'events', 'new', 'per new'],
    rows.map((row) => {
      const names = heads.map((_, index) => row.names[index] ?? '')
      const each = creditsPerNewEvent(row.credits, row.newEvents)
      return [
        ...names,
        creditsText(row.credits),
        countOrNothing(row.pages),
        countOrNothing(row.events),
        countOrNothing(row.newEvents),
        each === null ? '' : each.toFixed(2),
      ]
    }),
    { width: columns, numeric: [...heads.map(() => false), true, true, true, true, true] },
  )
}

function countOrNothing(value: number | null): string {
  return value === null ? '' : numberText(value)
}
