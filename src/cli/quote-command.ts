/** `plan --quote`: the exact bill. It asks the service, and what it buys for that is kept for the run. */

import { CREDITS_PER_PAGE } from '../journal/spending.ts'
import type { Overrides } from '../run/job.ts'
import { quoteJob, type QuoteReport } from '../run/quote.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import { SECOND } from '../support/units.ts'
import { runWorld, type Context } from './context.ts'
import { withService } from './service.ts'
import { leftBehindText } from './run-result.ts'
import { countText, durationText, numberText } from './text.ts'

/** `plan --quote`. */
export async function quoteCommand(
  context: Context,
  pipeline: string,
  options: Overrides,
): Promise<ExitCode> {
  const { output } = context
  const report = await withService(context, pipeline, options, (job, service) =>
    quoteJob(job, service, runWorld(context)),
  )
  output.text(quoteText(report))
  output.document(quoteDocument(report))
  return EXIT.done
}

function quoteText(report: QuoteReport): string {
  const { pipeline, organizations, leftBehind, quote } = report
  const { batches, pages, bought, toBuy, credits, progress } = quote
  const left =
    toBuy === 0
      ? 'nothing: the next run only has to finish'
      : `${countText(toBuy, 'page')} for ${countText(credits, 'credit')}${paceText(report, toBuy)}`
  return [
    `${pipeline}: ${countText(organizations, 'organisation')} in ${countText(batches.length, 'batch')} cost exactly ${countText(pages * CREDITS_PER_PAGE, 'credit')}`,
    `  bought   ${countText(bought, 'page')} by now, ${countText(progress.credits, 'credit')} for this quote: kept for the run`,
    `  to buy   ${left}`,
    ...(leftBehind === 0 ? [] : [`  left     ${leftBehindText(leftBehind)}`]),
    '  the next run of the same question buys the rest, and nothing twice',
  ].join('\n')
}

function paceText({ requestsPerSecond }: QuoteReport, pages: number): string {
  if (requestsPerSecond === null) return ''
  return `, ${durationText((pages / requestsPerSecond) * SECOND)} at ${numberText(requestsPerSecond)} a second`
}

function quoteDocument({
  runId,
  pipeline,
  organizations,
  leftBehind,
  quote,
}: QuoteReport): unknown {
  const { batches, pages, bought, toBuy, credits, progress } = quote
  return {
    run_id: runId,
    pipeline,
    organizations,
    pages_left_behind: leftBehind,
    pages,
    pages_bought: bought,
    pages_to_buy: toBuy,
    credits_in_all: pages * CREDITS_PER_PAGE,
    credits_to_buy: credits,
    credits_spent_now: progress.credits,
    batches: batches.map((batch) => ({
      batch_id: batch.batchId,
      organizations: batch.organizations,
      pages: batch.pages,
      pages_bought: batch.bought,
      pages_to_buy: batch.toBuy,
      credits_to_buy: batch.credits,
    })),
  }
}
