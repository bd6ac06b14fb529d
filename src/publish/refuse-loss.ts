/**
 * Keeps a poorer warehouse from replacing what readers see: one of another journal, or one that lost rows or coverage.
 * Pure: two manifests are compared, before anything is uploaded.
 */

import { isoInstant } from '../support/clock.ts'
import { MINUTE } from '../support/units.ts'
import { ulidTime } from '../support/ulid.ts'
import { PublishError } from './errors.ts'
import { totalsOf, type Manifest, type NotKept, type StoredManifest } from './manifest.ts'

export interface LossChoices {
  /** Publishes although the destination shows the rows of another journal, or under another suppression list. Default: refused. */
  readonly adoptDestination?: boolean
  /** Publishes although the snapshot holds less than the one before. Default: refused. */
  readonly acceptShrink?: boolean
}

/** A publish that would take rows or coverage from readers. Nothing was uploaded; the next run is refused, too. */
export class RefusedLossError extends PublishError {
  // No next run mends this: the operator has to decide.
  override whilePublishing(): PublishError {
    return this
  }
}

/** What a snapshot is made from, as far as it is known before anything is loaded. */
export type Source = Pick<StoredManifest, 'journal_id' | 'not_kept'>

/** With `lists`: the MACs of the suppression list here and of those before it. */
type Choices = LossChoices & { readonly lists: readonly string[] }

/** Refuses a snapshot in place of the one that readers see. */
export function refuseLoss(
  before: StoredManifest,
  now: Manifest,
  destination: string,
  choices: Choices,
): void {
  refuseOtherJournal(before, now, destination, choices)
  // An operator who adopts a destination has seen the counts of both sides.
  if (choices.acceptShrink === true || isOfAnotherJournal(before, now)) return
  const losses = lossesOf(before, now)
  if (losses.length > 0) throw shrunk(before, losses, destination)
}

/** Refuses what could take the place of what readers see, whatever it holds: another journal, or an older suppression list. */
export function refuseOtherJournal(
  before: StoredManifest,
  now: Source | StoredManifest,
  destination: string,
  { adoptDestination = false, lists }: Choices,
): void {
  if (isOfAnotherJournal(before, now) && !adoptDestination) {
    throw anotherJournal(before, now, destination)
  }
  // A list knows what all before it knew. Who adopts a destination has nothing but the numbers.
  const { list } = before.not_kept
  const isLater = list === null || lists.includes(list) || adoptDestination
  if (!isLater || hasForgottenLess(before.not_kept, now.not_kept)) {
    throw rememberedAgain(before, now, destination)
  }
}

// A suppression list only ever grows. The one of an older backup lets people come back, whatever the operator accepts.
function hasForgottenLess(before: NotKept, now: NotKept): boolean {
  const since = ({ events_before: day }: NotKept) => (day === null ? 0 : Date.parse(day))
  return now.people < before.people || since(now) < since(before)
}

export function isOfAnotherJournal(before: Source, now: Source): boolean {
  return before.journal_id !== now.journal_id
}

/**
 * Refuses, before anything is bought, a journal that knows of fewer credits than the snapshot: a copy from before it was
 * published, whose run would buy again what is in the newer one. The ledger of one journal only ever grows, also by an
 * accepted loss.
 * @param creditsHere charged or in doubt, of all runs of the journal here
 */
export function refuseOlderJournal(
  before: StoredManifest,
  creditsHere: number,
  destination: string,
  { acceptShrink = false }: LossChoices,
): void {
  const { credits, snapshot_id } = before
  if (acceptShrink || creditsHere >= credits.total) return
  throw new RefusedLossError(
    `the journal here is older than what readers of ${destination} see: it knows of ${shown(creditsHere)} credits, and snapshot ${snapshot_id} of ${shown(credits.total)}`,
    {
      hint: 'Is this a copy of the data directory from a backup? Put the newer one back; or run once with --accept-shrink, which buys again what the newer one held.',
      context: { destination, snapshot_id, credits: creditsHere, credits_published: credits.total },
    },
  )
}

/** Whether a snapshot shows nothing: no row, and no organisation that was read to its end. */
export function isEmpty({ tables, coverage }: StoredManifest): boolean {
  return coverage.organizations === 0 && tables.every(({ rows }) => rows === 0)
}

/** The table whose rows are never fewer by themselves: events are merged, and only erased on purpose. */
const EVENTS = 'job_change_events'
/** The share of events or organisations that may go without a word: events that a newer version rejects, ids that merge. */
const SMALL_SHARE = 0.05
/** A table with fewer rows can lose all of them by one correction. */
const FEW_ROWS = 20
/** How far coverage may be ahead of this machine's clock; see coveredBy in src/journal/coverage.ts. */
const AHEAD_MS = 5 * MINUTE

/** What a snapshot has less of than the one before; one phrase each. */
function lossesOf(before: StoredManifest, now: Manifest): string[] {
  const told = (what: string, was: number | string, is: number | string | null) =>
    `${what} ${shown(was)} → ${shown(is)}`
  // What Jobtide erased itself is no loss; it never takes coverage away.
  const { people, events_before: eventsBefore } = now.not_kept
  const hasErased =
    people > before.not_kept.people || eventsBefore !== before.not_kept.events_before
  const tables = (hasErased ? [] : before.tables).flatMap(({ name, rows }) => {
    const left = now.tables.find((table) => table.name === name)?.rows
    // A table that is gone is a change of schema, which is refused by itself.
    if (left === undefined) return []
    const isLost = name === EVENTS ? isFarLess(left, rows) : left === 0 && rows >= FEW_ROWS
    return isLost ? told(`rows of ${name}`, rows, left) : []
  })
  const [was, is] = [before.coverage, now.coverage]
  const [to, end] = [was.covered_to.max, is.covered_to.max]
  // What was covered up to a time that has not come was said by clocks that were ahead, and is void.
  const cannotBe = to !== null && Date.parse(to) > Date.parse(now.created_at) + AHEAD_MS
  return [
    ...tables,
    ...(isFarLess(is.organizations, was.organizations)
      ? [told('organisations covered', was.organizations, is.organizations)]
      : []),
    ...(to !== null && !cannotBe && (end === null || Date.parse(end) < Date.parse(to))
      ? [told('covered up to', to, end)]
      : []),
  ]
}

function isFarLess(now: number, before: number): boolean {
  return now < before * (1 - SMALL_SHARE)
}

function shrunk(before: StoredManifest, losses: readonly string[], destination: string) {
  const listed = losses.slice(0, 4).join('; ')
  const more = losses.length > 4 ? `; and ${losses.length - 4} more` : ''
  const { snapshot_id } = before
  return new RefusedLossError(
    `this warehouse holds less than readers of ${destination} see: ${listed}${more}`,
    {
      hint: `Nothing was uploaded, and readers keep snapshot ${snapshot_id}. If a part of the journal is missing, put it back and run \`jobtide replay\`; if the loss is meant, publish once with --accept-shrink.`,
      context: { destination, snapshot_id, losses },
    },
  )
}

function rememberedAgain(before: StoredManifest, now: Source, destination: string) {
  const { snapshot_id } = before
  const told = ({ not_kept: { people, events_before: day } }: Source) =>
    `${shown(people)} erased${day === null ? '' : `, and no events from before ${day}`}`
  return new RefusedLossError(
    `people who were erased would come back: the suppression list here knows of ${told(now)}, and does not follow that of the snapshot that readers of ${destination} see, which knows of ${told(before)}`,
    {
      hint: `Nothing was uploaded, and readers keep snapshot ${snapshot_id}. Put the newest suppressed.json back and run \`jobtide replay\`; if only an older one is left, forget everybody again who was erased since, and publish once with --adopt-destination.`,
      context: { destination, snapshot_id, before: before.not_kept, now: now.not_kept },
    },
  )
}

function anotherJournal(before: StoredManifest, now: Source | StoredManifest, destination: string) {
  const { snapshot_id } = before
  const made = 'tables' in now ? now : null
  // Every event costs credits; a warehouse with rows and no bill was made from a snapshot.
  const advice =
    made?.credits.total === 0 && made.coverage.organizations === 0
      ? 'A restored warehouse has no journal of its own: to go on from it there, publish once with --adopt-destination.'
      : 'Is this the data directory you mean, and is its volume mounted? If it shall replace the other, publish once with --adopt-destination; else name another place with --snapshot-to.'
  return new RefusedLossError(
    `${destination} is fed from another journal: ${journalText(before)}, ${countsText(before)}; this data directory is ${journalText(now)}${made === null ? '' : `, ${countsText(made)}`}`,
    {
      hint: `Nothing was uploaded, and readers keep snapshot ${snapshot_id}. ${advice}`,
      context: {
        destination,
        snapshot_id,
        destination_has: countsOf(before),
        warehouse_has: made === null ? { journal_id: now.journal_id } : countsOf(made),
      },
    },
  )
}

function countsOf(manifest: StoredManifest) {
  const { journal_id, tables, coverage } = manifest
  const events = tables.find(({ name }) => name === EVENTS)?.rows ?? 0
  const { rows } = totalsOf(manifest)
  return { journal_id, rows, events, organizations: coverage.organizations }
}

function journalText({ journal_id: id }: Source): string {
  const begunAt = ulidTime(id)
  return `${id}${Number.isNaN(begunAt) ? '' : ` of ${isoInstant(begunAt).slice(0, 10)}`}`
}

function countsText(manifest: StoredManifest): string {
  const { rows, events, organizations } = countsOf(manifest)
  return `${shown(rows)} rows (${shown(events)} of them events), ${shown(organizations)} organisation${organizations === 1 ? '' : 's'} covered`
}

function shown(value: number | string | null): string {
  return typeof value === 'number' ? value.toLocaleString('en-US') : (value ?? 'nothing')
}
