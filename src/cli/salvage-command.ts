/** `salvage`: a new journal of what the warehouse knows, where its own is gone; without `--yes` it only says what. */

import { planSalvage, salvage, type SalvageReport } from '../run/salvage/salvage.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import { countText, numberText } from '../support/numbers.ts'
import { runWorld, type Context } from './context.ts'
import type { Report } from './report.ts'

export async function salvageCommand(
  context: Context,
  { yes = false }: { readonly yes?: boolean },
): Promise<ExitCode> {
  const world = runWorld(context)
  const report = await (yes ? salvage(world) : planSalvage(world))
  context.output.report(salvageReport(report, context.directory.journal, yes))
  return EXIT.done
}

function salvageReport(report: SalvageReport, journal: string, isDone: boolean): Report {
  const { events, requests, credits, organizations, runs, unplaced, openBatches } = report
  const { unloadedRequests, unloadedCredits } = report
  return {
    title: isDone ? `salvaged: ${journal}` : `would be salvaged: ${journal}`,
    sections: [
      [
        ['events', numberText(events)],
        [
          'ledger',
          `${countText(requests, 'request')} for ${countText(credits, 'credit')} in ${countText(runs, 'run')}`,
        ],
        ['coverage', countText(organizations, 'organisation')],
        ['lost', LOST],
        unloadedCredits > 0 && [
          '',
          `${countText(unloadedRequests, 'request')} for ${countText(unloadedCredits, 'credit')} that were not loaded: budgets count them`,
        ],
        unplaced > 0 && [
          '',
          `the pages of ${countText(unplaced, 'repeated sighting')}: counted on the last one`,
        ],
        openBatches > 0 && [
          '',
          `what ${countText(openBatches, 'batch')} had still to read: asked for again, from page 1`,
        ],
      ],
    ],
    notes: [
      isDone
        ? 'Runs go on from this coverage. A destination is taken over with --adopt-destination. `jobtide replay` makes the warehouse of it again.'
        : 'Nothing was changed. With --yes it is written. A journal from a backup is better: put `journal` and `journal.seals` back where there is one.',
    ],
    values: { isDone, journal, ...report },
  }
}

const LOST = 'the bytes of pages, who was in a batch, forecasts, times that the service named'
