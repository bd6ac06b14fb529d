/**
 * `forget`: people, or events that are too old, out of everything Jobtide keeps. Without `--yes` it only says where they
 * are.
 */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  certificateDocument,
  inWordsOfData,
  type Certificate,
} from '../run/forget/forget-certificate.ts'
import { planForgetting, type ForgetPlan } from '../run/forget/forget-plan.ts'
import { forgetTargets } from '../run/forget/forget-targets.ts'
import type { ForgetRequest, ForgetStep, ForgetWorld } from '../run/forget/forget-world.ts'
import { forget } from '../run/forget/forget.ts'
import { isForgettingPending } from '../run/forget/forget-pending.ts'
import { ConfigError, EXIT, whyUnread, type ExitCode } from '../support/errors.ts'
import { sum } from '../support/numbers.ts'
import { decodeText } from '../support/text.ts'
import { DAY } from '../support/units.ts'
import { runWorld, type Context } from './context.ts'
import { bytesText, countText, printable, wrapText } from './text.ts'

/** Options of `forget`. */
export interface ForgetOptions {
  /** A file with a profile_id a line. */
  readonly from?: string
  /** Events that are older than so many days. */
  readonly olderThan?: number
  readonly yes?: boolean
  /** Whose destination and S3 settings to use besides those that are known. */
  readonly pipeline?: string
}

/**
 * `forget`: exit code 0 when nothing is left, or nothing was asked to be done; 7 when something is left.
 * @throws ConfigError when it is not said whom to forget
 */
export async function forgetCommand(
  context: Context,
  people: readonly string[],
  options: ForgetOptions,
): Promise<ExitCode> {
  const { directory, clock, output, progress } = context
  const { olderThan } = options
  const request: ForgetRequest = {
    profileIds: [...people, ...(options.from === undefined ? [] : idsIn(options.from))],
    // Whole days: the same command on the same day means the same events.
    eventsBefore:
      olderThan === undefined ? null : (Math.floor(clock.now() / DAY) - olderThan) * DAY,
  }
  if (request.profileIds.some((id) => id.trim() === '')) {
    throw new ConfigError('an empty profile_id names nobody', {
      hint: 'Look at how the command was put together. Nothing was changed.',
    })
  }
  const isNothing = request.profileIds.length === 0 && request.eventsBefore === null
  if (isNothing && !isForgettingPending(directory.root)) {
    throw new ConfigError('nobody is named to be forgotten', {
      hint: 'Name people by their profile_id, a file of them with --from, or --older-than DAYS. Nothing was changed.',
    })
  }
  const world = forgetWorld(context, options)
  try {
    if (options.yes !== true) {
      const plan = await planForgetting(world, request)
      progress.stop()
      output.text(planText(plan, output.columns))
      output.document({ is_done: false, ...(inWordsOfData(plan) as object) })
      return EXIT.done
    }
    const certificate = await forget(world, request)
    progress.stop()
    output.text(certificateText(certificate, output.columns))
    output.document({
      is_done: true,
      path: certificate.path,
      ...(certificateDocument(certificate) as object),
    })
    return certificate.is_complete ? EXIT.done : EXIT.publishFailed
  } finally {
    progress.stop()
  }
}

function forgetWorld(context: Context, { pipeline }: ForgetOptions): ForgetWorld {
  const { directory, progress } = context
  return {
    ...runWorld(context),
    targets: (known) => forgetTargets(directory.root, pipeline ?? null, known),
    onStep: ({ step, done = 0, total = 1 }: ForgetStep) =>
      progress.show({ stage: 'forget', name: step, done, total }),
  }
}

function idsIn(file: string): string[] {
  const path = resolve(file)
  try {
    const lines = decodeText(readFileSync(path)).split(/\r?\n/)
    return lines.map((line) => line.trim()).filter((line) => line !== '')
  } catch (error) {
    throw new ConfigError(`list of people ${path}: ${whyUnread(error)}`, {
      hint: 'Give a text file with a profile_id a line. Nothing was changed.',
      cause: error,
    })
  }
}

function planText(plan: ForgetPlan, columns: number): string {
  const lines = [
    `would be erased: ${whomText(plan.people, plan.eventsBefore)}`,
    ...(plan.goesOn ? ['what an earlier `forget` left undone is in here'] : []),
    place('journal', journalText(plan.segments)),
    place('warehouse', rowsText(plan.rows)),
    ...(plan.hasAnalystCopy ? [place('analysts', 'analyst.duckdb is made anew')] : []),
    ...plan.stores.map(({ destination, problem, findings }) => {
      if (problem !== null) return place(destination, problem)
      if (findings === null) return place(destination, 'there is no such folder')
      const { snapshots, files, rows } = findings
      return place(destination, publishedText(snapshots.length, files, rows))
    }),
  ]
  const isNowhere =
    plan.segments.length === 0 &&
    Object.keys(plan.rows).length === 0 &&
    plan.stores.every(({ findings }) => findings === null || findings.files === 0)
  const end = isNowhere
    ? 'Nothing of it is here. With --yes it is kept out from now on all the same.'
    : 'Nothing was changed. With --yes all that is written anew without it, for good.'
  return [...lines, end].map((line) => wrapText(line, columns, '')).join('\n')
}

function certificateText(certificate: Certificate, columns: number): string {
  const { people, events_before: before, proof, remaining, path } = certificate
  const lines = [
    `erased: ${whomText(people.length, before)}`,
    place('journal', journalText(certificate.segments)),
    place('warehouse', rowsText(certificate.rows)),
    ...certificate.stores.map(({ destination, problem, report }) => {
      if (problem !== null) return place(destination, problem)
      if (report === null) return place(destination, 'there is no such folder')
      const { snapshots, files, rows } = report
      return place(destination, publishedText(snapshots.length, files, rows))
    }),
    ...(people.length === 0
      ? []
      : [
          `proof: ${countText(proof.texts, 'text')} searched in ${countText(proof.files, 'file')} (${bytesText(proof.bytes)}), found in ${proof.matches.length}`,
        ]),
    `certificate: ${path}`,
    ...(remaining.length === 0
      ? []
      : [
          'NOT COMPLETE:',
          ...remaining,
          'Mend that and run `jobtide forget --yes` again: it goes on where it stopped.',
        ]),
  ]
  return lines.map((line) => wrapText(printable(line), columns, '')).join('\n')
}

function whomText(people: number, eventsBefore: string | null): string {
  const parts = [
    ...(people === 0 ? [] : [countText(people, 'person', 'people')]),
    ...(eventsBefore === null
      ? []
      : [`events that changed and were detected before ${eventsBefore.slice(0, 10)}`]),
  ]
  return parts.join(', and ')
}

function journalText(
  segments: readonly { readonly pages: number; readonly events: number }[],
): string {
  const events = countText(sum(segments.map((segment) => segment.events)), 'event')
  const pages = countText(sum(segments.map((segment) => segment.pages)), 'page')
  return `${events} in ${pages} of ${countText(segments.length, 'segment')}`
}

function rowsText(rows: Readonly<Record<string, number>>): string {
  const tables = Object.entries(rows)
  const all = sum(tables.map(([, count]) => count))
  const parts = tables.map(([table, count]) => `${table} ${count}`).join(', ')
  return parts === '' ? 'no rows' : `${countText(all, 'row')}: ${parts}`
}

function publishedText(snapshots: number, files: number, rows: number): string {
  return `${countText(rows, 'row')} in ${countText(files, 'file')} of ${countText(snapshots, 'snapshot')}`
}

function place(name: string, what: string): string {
  return `${name}: ${what}`
}
