/** `plan` of a pipeline of `kind: collect`: shows which requests it would send and what they may cost. */

import { readHistory } from '../journal/read-history.ts'
import { openJournal } from '../journal/journal.ts'
import { monthOf, monthlyCredits } from '../journal/spending.ts'
import { planCollection } from '../plan/collection.ts'
import { skippedValues } from '../plan/skipped-lines.ts'
import { readSuppression } from '../load/suppression.ts'
import { withoutErased, type Collection } from '../run/collection.ts'
import type { Job } from '../run/job.ts'
import { countText, numberText } from '../support/numbers.ts'
import type { Context } from './context.ts'
import type { Report } from './report.ts'
import { budgetFacts, skippedFact } from './plan-command.ts'

/** The plan; nothing is sent. */
export async function collectionReport(
  { directory, clock }: Context,
  job: Job,
  collection: Collection,
): Promise<Report> {
  const nowMs = clock.now()
  const { lookups: listed, duplicates, refused } = await collection.read()
  const journal = openJournal(directory.journal, clock)
  const history = readHistory(journal)
  const lookups = withoutErased(listed, readSuppression(journal, history.suppression))
  const { endpoint, declared } = collection
  const plan = planCollection({ ...collection, lookups }, history, declared, nowMs)
  const { least, most } = plan.price
  const spent = monthlyCredits(history.spending, job.pipeline).get(monthOf(nowMs)) ?? 0
  const bill =
    least === most
      ? countText(most, 'credit')
      : `${numberText(least)} to ${countText(most, 'credit')}: ${declared.pages === null ? 'what is not there costs less' : `lists of 1 to ${countText(collection.pages, 'page')}`}`
  return {
    title: `${job.pipeline}: ${countText(plan.lookups.length, 'request')} to ${endpoint}; nothing was sent`,
    sections: [
      [
        ['expected', bill],
        ...budgetFacts(job, spent, most),
        plan.fresh > 0 && ['not asked', `${numberText(plan.fresh)} that were answered lately`],
        plan.absent > 0 && [
          'absent',
          `${numberText(plan.absent)} of themthat the service does not have`,
        ],
        duplicates > 0 && ['twice', `${countText(duplicates, 'line')} of the list`],
        refused.length > 0 && [
          'refused',
          `${countText(refused.length, 'row')} of the select, the first: ${refused[0]?.reason ?? ''}`,
        ],
        skippedFact(job.skipped),
      ],
    ],
    values: {
      pipeline: job.pipeline,
      endpoint,
      listed: lookups.length,
      duplicates,
      refused: refused.length,
      skippedLines: skippedValues(job.skipped),
      requestsAtLeast: plan.lookups.length,
      answeredLately: plan.fresh,
      absent: plan.absent,
      creditsAtLeast: least,
      creditsAtMost: most,
      creditsLimit: job.creditsLimit,
      creditsPerMonth: job.creditsPerMonth,
      creditsSpentThisMonth: spent,
      snapshotTo: job.snapshot?.to ?? null,
    },
  }
}
