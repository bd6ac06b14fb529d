/** `plan --sample N`: reads N random batches of the run to their end, keeps them, and projects the bill of all. */

import { CREDITS_PER_PAGE } from '../journal/spending.ts'
import type { Overrides } from '../run/job.ts'
import { sampleRun, type SampleReport } from '../run/sample.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import { SECOND } from '../support/units.ts'
import { runWorld, type Context } from './context.ts'
import type { Report } from './report.ts'
import { leftBehindText } from './run-result.ts'
import { withService } from './service.ts'
import { countText, durationText, numberText } from './text.ts'

/** Reads the sample and shows what it projects. */
export async function sampleCommand(
  context: Context,
  pipeline: string,
  options: Overrides & { readonly sample: number },
): Promise<ExitCode> {
  const sample = await withService(context, pipeline, options, (job, service) =>
    sampleRun(job, options.sample, service, runWorld(context)),
  )
  context.output.report(sampleReport(sample))
  return EXIT.done
}

function sampleReport(sample: SampleReport): Report {
  const { pipeline, organizations, leftBehind, progress } = sample
  const { projection, batches, batchesDone, credits, pages } = progress
  const left = batches - batchesDone
  const about =
    projection === null
      ? 'is not known yet'
      : left === 0
        ? `is ${countText(projection.expected, 'credit')}`
        : `is about ${countText(projection.expected, 'credit')}, 90 % sure between ${numberText(projection.low)} and ${numberText(projection.high)}`
  return {
    title: `${pipeline}: the bill of ${countText(organizations, 'organisation')} in ${countText(batches, 'batch')} ${about}`,
    sections: [
      [
        [
          '  read',
          `${countText(pages, 'page')} for ${countText(credits, 'credit')} now: kept for the run, of which ${countText(batchesDone, 'batch')} ${batchesDone === 1 ? 'is' : 'are'} read`,
        ],
        ['  to read', left === 0 ? 'nothing: the next run only has to finish' : restText(sample)],
        leftBehind > 0 && ['  left', leftBehindText(leftBehind)],
      ],
    ],
    notes: ['the next run of the same question reads the rest, and nothing twice'],
    values: {
      run_id: sample.runId,
      pipeline,
      organizations,
      batches,
      batches_read: batchesDone,
      pages_now: pages,
      credits_spent_now: credits,
      pages_left_behind: leftBehind,
      expected_credits: projection?.expected ?? null,
      credits_90_percent: projection && { low: projection.low, high: projection.high },
      credits_to_buy: projection && toBuy(sample),
    },
  }
}

function restText(sample: SampleReport): string {
  const { progress, requestsPerSecond } = sample
  const batches = countText(progress.batches - progress.batchesDone, 'batch')
  const credits = toBuy(sample)
  if (credits === null) return batches
  const pace =
    requestsPerSecond === null
      ? ''
      : `, ${durationText((credits / CREDITS_PER_PAGE / requestsPerSecond) * SECOND)} at ${numberText(requestsPerSecond)} a second`
  return `${batches} for about ${countText(credits, 'credit')}${pace}`
}

/** What the rest is expected to cost; null where nothing is projected. */
function toBuy({ progress, creditsOfRun }: SampleReport): number | null {
  const { projection } = progress
  return projection && Math.max(0, projection.expected - creditsOfRun)
}
