/**
 * `forget`: erases people, or events that are too old, from everything that Jobtide keeps; without `--yes` it only lists
 * where they are. `export-person`: prints everything known about one person.
 */

import { basename, resolve } from 'node:path'
import type { Erasable } from '../load/suppression.ts'
import { readRows } from '../plan/organizations.ts'
import { skippedOf, tellSkipped } from '../plan/skipped-lines.ts'
import { erase, planErasure, type Erasure, type ErasurePlan } from '../run/forget/erase.ts'
import { exportPerson, peopleAmong, refuseNoPeople } from '../run/forget/known.ts'
import { readPending } from '../run/forget/pending.ts'
import { absoluteAddress, withoutSlash } from '../publish/store/open-store.ts'
import { targetsOf } from '../run/forget/snapshots.ts'
import type { ErasureWorld } from '../run/forget/search.ts'
import { DEFAULT_MAX_WAIT_MS } from '../run/lock.ts'
import { readNamedFile } from '../support/atomic-file.ts'
import { isoInstant } from '../support/clock.ts'
import { ConfigError, EXIT } from '../support/errors.ts'
import { bytesText, countText, firstTexts, sum } from '../support/numbers.ts'
import type { Logger } from '../support/logger.ts'
import { escapedJson } from '../support/text.ts'
import { DAY } from '../support/units.ts'
import type { Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import { facts, type Fact, type Report, type Result } from './report.ts'

/** `forget`: exit code 0 when nothing is left or nothing was requested; 7 when something is left. */
export async function forgetCommand(
  context: Context,
  people: readonly string[],
  options: OptionsOf<'forget'>,
): Promise<Result> {
  const { gone: places = [], pipeline, yes = false } = options
  const request = await requestOf(context, people, options)
  await refuseNoPeople(context.directory, request.profileIds)
  const gone = places.map((place) => withoutSlash(absoluteAddress(place, '.') ?? place))
  const world = { ...erasureWorld(context, pipeline), gone }
  if (!yes) return planReport(await planErasure(world, request))
  const erased = await erase(world, request, DEFAULT_MAX_WAIT_MS)
  return erased === null ? EXIT.done : certificateReport(erased)
}

/** `export-person`, as JSON whatever the options. @throws ConfigError when nothing is known of them */
export async function exportPersonCommand(context: Context, profileId: string): Promise<Report> {
  await refuseNoPeople(context.directory, [profileId])
  const found = await exportPerson(context, profileId)
  // For people it is spread over lines; a program gets the same document.
  const title = escapedJson(JSON.stringify(found, null, 2)).split('\n')
  return { title, data: found }
}

export function erasureWorld(context: Context, pipeline: string | undefined): ErasureWorld {
  const targets: ErasureWorld['targets'] = (known) =>
    targetsOf(context.directory.root, pipeline, known)
  return { ...context, targets }
}

async function requestOf(
  { directory, clock, logger }: Context,
  people: readonly string[],
  { from, olderThan }: OptionsOf<'forget'>,
): Promise<Erasable> {
  const listed = from === undefined ? [] : idsIn(from, logger)
  const profileIds = [...people, ...listed.map(({ id }) => id)]
  if (profileIds.some((id) => id.trim() === '')) {
    throw new ConfigError('an empty profile_id names no person', {
      hint: 'Check the variables and quotes in the command. Nothing was changed.',
    })
  }
  const odd = [
    ...people.filter(isOddArgument).map((id) => ({ id, where: '', hint: AS_ARGUMENTS })),
    ...listed.filter(({ id }) => NO_ID.test(id)),
  ]
  // The service may send such an id, and that person can be erased as well.
  const known =
    odd.length === 0
      ? []
      : await peopleAmong(
          directory,
          odd.map(({ id }) => id),
        )
  const wrong = odd.find(({ id }) => !known.includes(id))
  if (wrong !== undefined) {
    const { id, where, hint } = wrong
    throw new ConfigError(`${where}not a ${ID_COLUMN}: ${JSON.stringify(id)}`, { hint })
  }
  if (profileIds.length === 0 && olderThan === undefined && readPending(directory.root) === null) {
    throw new ConfigError('no person to forget was named', {
      hint: 'Name people by their profile_id, a file of them with --from, or --older-than DAYS. Nothing was changed.',
    })
  }
  // Whole days: the same command on the same day means the same events.
  const today = Math.floor(clock.now() / DAY)
  return { profileIds, eventsBefore: olderThan === undefined ? null : (today - olderThan) * DAY }
}

const ID_COLUMN = 'profile_id'
// Blanks, control characters and invisible characters: a note after an id, or a copying artefact.
const NO_ID = /[\s\p{Cc}\p{Default_Ignorable_Code_Point}\uFFFD]/u

// Not the address of a page, which may have a comma.
const SEVERAL = /^[^/]*[,;]/
// As people write one, with blanks.
const PHONE = /^[+(]{0,2}\d[^,;]*$/

const isOddArgument = (id: string) => !PHONE.test(id) && (NO_ID.test(id) || SEVERAL.test(id))
const AS_ARGUMENTS = `Name each person by the ${ID_COLUMN}, in a separate argument. Nothing was changed.`

/** The ids of a list, each with its place for a message. */
function idsIn(file: string, logger: Logger) {
  const hint = `Give a text file with one ${ID_COLUMN} per line, or CSV with a column of that name. Nothing was changed.`
  const name = basename(file)
  const rows = readRows(readNamedFile('list of people', resolve(file), hint), name, 'people', hint)
  const at = rows[0]?.cells.findIndex((cell) => cell.toLowerCase() === ID_COLUMN) ?? -1
  const skipped: number[] = []
  const ids = rows.slice(at < 0 ? 0 : 1).flatMap(({ cells, line }) => {
    const [id = '', ...others] = at < 0 ? cells.filter((cell) => cell !== '') : [cells[at] ?? '']
    const where = `${name}:${line}: `
    if (others.length > 0) {
      const what = JSON.stringify(cells.join())
      throw new ConfigError(`${where}not a ${ID_COLUMN}: ${what}`, { hint })
    }
    if (id === '') skipped.push(line)
    return id === '' ? [] : [{ id, where, hint }]
  })
  tellSkipped(logger, skippedOf(name, skipped, ids.length))
  return ids
}

function planReport(plan: ErasurePlan): Report {
  const { people, not_here: unknown, events_before: before } = plan
  return {
    title: `would be erased: ${whomText(people - unknown.length, before)}`,
    sections: [placesOf(plan, true)],
    notes: [
      ...(plan.goes_on ? ['This includes what an earlier `forget` left undone.'] : []),
      ...notHereText(unknown),
      isNowhere(plan)
        ? 'None of it is here. --yes still keeps it out from now on.'
        : 'Nothing was changed. With --yes, Jobtide rewrites all of this without it, for good. Readers get a new snapshot in place of those dropped.',
    ],
    data: { is_done: false, ...plan },
  }
}

function certificateReport({ notHere, begunAt, ...certificate }: Erasure): Report {
  const { people, events_before: before, proof, remaining, path, stores } = certificate
  const who = whomText(people.length - notHere.length, before)
  const begun = begunAt === null ? '' : ` begun on ${isoInstant(begunAt).slice(0, 10)}`
  const done = begunAt === null ? `erased: ${who}` : `completed the erasure of ${who}${begun}`
  const gone = stores.filter(({ is_gone: isGone }) => isGone).map(({ destination }) => destination)
  return {
    title: certificate.is_complete ? done : `not erased everywhere yet: ${who}${begun}`,
    sections: [
      [
        ...placesOf(certificate, false),
        ...facts({
          proof: people.length > 0 && proofText(proof),
          certificate: path,
        }),
      ],
    ],
    notes: [
      ...(remaining.length === 0 ? [] : ['NOT COMPLETE:', ...remaining, GO_ON]),
      ...notHereText(notHere),
      ...gone.map((place) => `NOT ERASED in ${place}, which is said to be gone for good.`),
      ...(isNowhere(certificate) ? ['None of it was here: it is kept out from now on.'] : []),
    ],
    data: {
      is_done: true,
      not_here: notHere,
      begun_at: begunAt === null ? null : isoInstant(begunAt),
      ...certificate,
    },
    exitCode: certificate.is_complete ? EXIT.done : EXIT.publishFailed,
  }
}

const SHOWN = 20

function notHereText(ids: readonly string[]): string[] {
  if (ids.length === 0) return []
  const who = countText(ids.length, 'person', 'people')
  return [
    `NOT HERE: ${who}, erased before or spelled differently:`,
    ...firstTexts(ids, SHOWN).map((id) => `  ${id}`),
  ]
}

function isNowhere({ segments, rows, stores }: Places): boolean {
  const isDropped = stores.some(({ snapshots }) => snapshots.length > 0)
  return segments.length === 0 && Object.keys(rows).length === 0 && !isDropped
}

const GO_ON = 'Fix that and run `jobtide forget --yes` again: it continues where it stopped.'

function whomText(people: number, eventsBefore: string | null): string {
  const who = countText(people, 'person', 'people')
  if (eventsBefore === null) return who
  const events = `events that changed and were detected before ${eventsBefore.slice(0, 10)}`
  return people > 0 ? `${who}, and ${events}` : events
}

function proofText({ texts, files, bytes, matches }: Erasure['proof']): string {
  return `${countText(texts, 'text')} searched in ${countText(files, 'file')} (${bytesText(bytes)}), found in ${matches.length}`
}

type Places = Pick<ErasurePlan, 'segments' | 'rows' | 'stores'>

function placesOf({ segments, rows, stores }: Places, isPlan: boolean): Fact[] {
  const events = countText(sum(segments.map((segment) => segment.events)), 'event')
  const pages = countText(sum(segments.map((segment) => segment.pages)), 'page')
  const tables = Object.entries(rows).map(([table, count]) => `${table} ${count}`)
  const all = countText(sum(Object.values(rows)), 'row')
  return [
    ['journal', `${events} in ${pages} of ${countText(segments.length, 'segment')}`],
    ['warehouse', tables.length === 0 ? 'no rows' : `${all}: ${tables.join(', ')}`],
    ...stores.map(({ destination, problem, snapshots, tables }): Fact => {
      if (problem !== null) return [destination, problem]
      if (tables !== undefined) {
        const loaded =
          tables.length > 0 ? `loaded again: ${tables.join(', ')}` : 'none of it was there'
        return [destination, isPlan ? 'would be loaded again without it' : loaded]
      }
      const dropped = isPlan ? 'would be dropped' : 'dropped'
      const ids = snapshots.length === 0 ? '' : ` ${dropped}: ${snapshots.join(', ')}`
      return [destination, `${countText(snapshots.length, 'snapshot')}${ids}`]
    }),
  ]
}
