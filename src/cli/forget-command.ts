/**
 * `forget`: people, or events that are too old, out of everything that Jobtide keeps; without `--yes` it only says where
 * they are. `export-person`: everything that is known of one person.
 */

import { resolve } from 'node:path'
import type { Erasable } from '../load/suppression.ts'
import { erase, type Certificate } from '../run/forget/erase.ts'
import { exportPerson } from '../run/forget/export-person.ts'
import { readPending } from '../run/forget/pending.ts'
import { planErasure, type ErasurePlan } from '../run/forget/plan.ts'
import { targetsOf } from '../run/forget/snapshots.ts'
import type { ErasureWorld } from '../run/forget/world.ts'
import { DEFAULT_MAX_WAIT_MS } from '../run/lock.ts'
import { readNamedFile } from '../support/atomic-file.ts'
import { ConfigError, EXIT, type ExitCode } from '../support/errors.ts'
import { countText, sum } from '../support/numbers.ts'
import { decodeText, escapedJson } from '../support/text.ts'
import { DAY } from '../support/units.ts'
import { runWorld, type Context } from './context.ts'
import type { Fact, Report } from './report.ts'
import { bytesText } from './text.ts'

export interface ForgetOptions {
  readonly from?: string
  readonly olderThan?: number
  readonly yes?: boolean
  /** A pipeline whose destination and S3 settings to use, too. */
  readonly pipeline?: string
}

/** `forget`: exit code 0 when nothing is left, or nothing was asked to be done; 7 when something is left. */
export async function forgetCommand(
  context: Context,
  people: readonly string[],
  options: ForgetOptions,
): Promise<ExitCode> {
  const { output } = context
  const request = requestOf(context, people, options)
  const world = erasureWorld(context, options.pipeline)
  if (options.yes !== true) {
    output.report(planReport(await planErasure(world, request)))
    return EXIT.done
  }
  const certificate = await erase(world, request, DEFAULT_MAX_WAIT_MS)
  if (certificate === null) return EXIT.done
  output.report(certificateReport(certificate))
  return certificate.is_complete ? EXIT.done : EXIT.publishFailed
}

/** `export-person`, as JSON whatever the options. @throws ConfigError when nothing is known of them */
export async function exportPersonCommand(context: Context, profileId: string): Promise<ExitCode> {
  const found = await exportPerson(runWorld(context), profileId)
  // For people it is spread over lines; a program gets the same document.
  const title = escapedJson(JSON.stringify(found, null, 2)).split('\n')
  context.output.report({ title, data: found })
  return EXIT.done
}

export function erasureWorld(context: Context, pipeline: string | undefined): ErasureWorld {
  const targets: ErasureWorld['targets'] = (known) =>
    targetsOf(context.directory.root, pipeline, known)
  return { ...runWorld(context), targets }
}

function requestOf(
  { directory, clock }: Context,
  people: readonly string[],
  { from, olderThan }: ForgetOptions,
): Erasable {
  const profileIds = [...people, ...(from === undefined ? [] : idsIn(from))]
  if (profileIds.some((id) => id.trim() === '')) {
    throw new ConfigError('an empty profile_id names nobody', {
      hint: 'Look at how the command was put together. Nothing was changed.',
    })
  }
  if (profileIds.length === 0 && olderThan === undefined && readPending(directory.root) === null) {
    throw new ConfigError('nobody is named to be forgotten', {
      hint: 'Name people by their profile_id, a file of them with --from, or --older-than DAYS. Nothing was changed.',
    })
  }
  // Whole days: the same command on the same day means the same events.
  const today = Math.floor(clock.now() / DAY)
  return { profileIds, eventsBefore: olderThan === undefined ? null : (today - olderThan) * DAY }
}

function idsIn(file: string): string[] {
  const hint = 'Give a text file with a profile_id a line. Nothing was changed.'
  const text = decodeText(readNamedFile('list of people', resolve(file), hint))
  const lines = text.split(/\r?\n/).map((line) => line.trim())
  return lines.filter((line) => line !== '')
}

function planReport(plan: ErasurePlan): Report {
  const { people, events_before: before } = plan
  return {
    title: `would be erased: ${whomText(people, before)}`,
    sections: [placesOf(plan, 'would be dropped')],
    notes: [
      ...(plan.goes_on ? ['What an earlier `forget` left undone is in here.'] : []),
      isNowhere(plan)
        ? 'Nothing of it is here. With --yes it is kept out from now on all the same.'
        : 'Nothing was changed. With --yes all that is written again without it, for good. Readers see a new snapshot of the warehouse in place of those dropped.',
    ],
    data: { is_done: false, ...plan },
  }
}

function certificateReport(certificate: Certificate): Report {
  const { people, events_before: before, proof, remaining, path } = certificate
  return {
    title: `erased: ${whomText(people.length, before)}`,
    sections: [
      [
        ...placesOf(certificate, 'dropped'),
        people.length > 0 && [
          'proof',
          `${countText(proof.texts, 'text')} searched in ${countText(proof.files, 'file')} (${bytesText(proof.bytes)}), found in ${proof.matches.length}`,
        ],
        ['certificate', path],
      ],
    ],
    notes: [
      ...(remaining.length === 0 ? [] : ['NOT COMPLETE:', ...remaining, GO_ON]),
      ...(isNowhere(certificate) ? ['Nothing of it was here: it is kept out from now on.'] : []),
    ],
    data: { is_done: true, ...certificate },
  }
}

function isNowhere({ segments, rows, stores }: Places): boolean {
  const isDropped = stores.some(({ snapshots }) => snapshots.length > 0)
  return segments.length === 0 && Object.keys(rows).length === 0 && !isDropped
}

const GO_ON = 'Mend that and run `jobtide forget --yes` again: it goes on where it stopped.'

function whomText(people: number, eventsBefore: string | null): string {
  const parts = [
    people > 0 && countText(people, 'person', 'people'),
    eventsBefore !== null &&
      `events that changed and were detected before ${eventsBefore.slice(0, 10)}`,
  ]
  return parts.filter(Boolean).join(', and ')
}

type Places = Pick<ErasurePlan, 'segments' | 'rows' | 'stores'>

function placesOf({ segments, rows, stores }: Places, dropped: string): Fact[] {
  const events = countText(sum(segments.map((segment) => segment.events)), 'event')
  const pages = countText(sum(segments.map((segment) => segment.pages)), 'page')
  const tables = Object.entries(rows).map(([table, count]) => `${table} ${count}`)
  const all = countText(sum(Object.values(rows)), 'row')
  return [
    ['journal', `${events} in ${pages} of ${countText(segments.length, 'segment')}`],
    ['warehouse', tables.length === 0 ? 'no rows' : `${all}: ${tables.join(', ')}`],
    ...stores.map(({ destination, problem, snapshots }): Fact => {
      const ids = snapshots.length === 0 ? '' : ` ${dropped}: ${snapshots.join(', ')}`
      return [destination, problem ?? `${countText(snapshots.length, 'snapshot')}${ids}`]
    }),
  ]
}
