/**
 * `credits`: what was spent, on what, and what it brought. Sums are those of the journal's ledger, so that they are right
 * also while the warehouse is locked or behind; new events and organisations come from the warehouse.
 */

import { openJournal } from '../journal/journal.ts'
import { readHistory } from '../journal/read-history.ts'
import { readJob } from '../run/job.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import type { Context } from './context.ts'
import { firstDayOf, type Scope } from './credits-figures.ts'
import { creditsSummary } from './credits-summary.ts'
import { creditsTable } from './credits-table.ts'
import type { CreditGroup } from './options.ts'
import { refuseEmpty } from './refuse-empty.ts'

/** Options of `credits`. */
export interface CreditsOptions {
  /** Absent shows the summary. */
  readonly by?: CreditGroup
  /** Only the last so many UTC days, today included. */
  readonly days?: number
  /** Shows every row instead of the first ones. */
  readonly all?: boolean
}

/** Shows what was spent, by one pipeline or by all. */
export async function creditsCommand(
  context: Context,
  pipeline: string | undefined,
  options: CreditsOptions,
): Promise<ExitCode> {
  const { directory, clock, output } = context
  const job = pipeline === undefined ? null : await readJob(pipeline, {}, directory.root)
  const journal = openJournal(directory.journal, clock)
  refuseEmpty(journal, directory)
  const now = clock.now()
  const scope: Scope = {
    pipeline: job?.pipeline ?? null,
    sinceDay: options.days === undefined ? null : firstDayOf(options.days, now),
  }
  const ledger = { history: readHistory(journal), warehouse: directory.warehouse, scope, now }
  const columns = output.columns
  const { text, document } =
    options.by === undefined
      ? await creditsSummary(ledger, { creditsPerMonth: job?.creditsPerMonth ?? null, columns })
      : await creditsTable(ledger, { by: options.by, all: options.all ?? false, columns })
  output.document({ data_dir: directory.root, ...document })
  output.text(text)
  return EXIT.done
}
