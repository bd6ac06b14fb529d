/**
 * Prevents a poorer warehouse from replacing the snapshot that readers see: one of another journal, or one that lost
 * rows, coverage or tables. Manifests are compared before anything is uploaded, and a run checks its destination before
 * it buys.
 */

import { isoInstant } from '../support/clock.ts'
import type { Logger } from '../support/logger.ts'
import { countText, numberText } from '../support/numbers.ts'
import { ulidTime } from '../support/ulid.ts'
import { MINUTE } from '../support/units.ts'
import { PublishError, RefusedError } from './errors.ts'
import {
  isOfThisFormat,
  totalsOf,
  readCurrent,
  type Manifest,
  type ManifestTable,
  type NotKept,
  type StoredManifest,
} from './manifest.ts'
import type { ObjectStore } from './store/object-store.ts'

export interface LossChoices {
  /** Publishes although the destination shows the rows of another journal, or under another suppression list. Default: refused. */
  readonly adoptDestination?: boolean
  /** Publishes although the snapshot holds less than the one before. Default: refused. */
  readonly acceptShrink?: boolean
}

/** With `lists`: the MACs of the suppression list here and of those before it. */
type Choices = LossChoices & { readonly lists: readonly string[] }

type Source = Pick<StoredManifest, 'journal_id' | 'not_kept'>

/** What to do about a journal that is an older copy, such as a data directory from a backup, or of the machine before a move. */
export const NEWER_BACK =
  'Put the newer data directory back. Or move `journal`, `journal.seals` and `jobtide.duckdb` away, and run `jobtide restore-journal`.'
export const BOUGHT_AGAIN = 'What the older journal lacks is bought again, and no budget counts it.'

/**
 * Refuses, before a run buys, a destination fed from another journal or a newer copy of this one, or that knows of more
 * erased people: a run that cannot publish spends nothing. Opening it has already shown that it can be written.
 * @param credits charged or in doubt, of all runs of the journal here. A ledger only grows, so with fewer credits than
 * the snapshot it is an older copy, whose run would buy again what the newer one has
 * @throws PublishError also when pointer or manifest is missing, changed or not Jobtide's
 */
export async function checkDestination(
  store: ObjectStore,
  source: Source,
  credits: number,
  choices: Choices,
): Promise<void> {
  const { destination } = store
  const before = (await readCurrent(store))?.manifest
  if (before === undefined || canReplace(before, source, destination, choices)) return
  const { total } = before.credits
  if (credits >= total) return
  throw refusal(
    before,
    destination,
    `the journal here is older than what readers of ${destination} see: it knows of ${shown(credits)} credits, but snapshot ${before.snapshot_id} of ${shown(total)}`,
    `${NEWER_BACK} Or use the older journal: run once with --accept-shrink. ${BOUGHT_AGAIN}`,
  )
}

/** Refuses a snapshot in place of the one that readers see. @throws PublishError */
export function assertNoDataLoss(before: StoredManifest, now: Manifest, choices: Choices): void {
  const { destination } = now
  if (canReplace(before, now, destination, choices)) return
  const losses = lossesOf(before, now)
  if (losses.length === 0) return
  throw refusal(
    before,
    destination,
    `this warehouse holds less than readers of ${destination} see: ${firstOf(losses, 4)}`,
    `${keptText(before)} If a part of the journal is missing, put it back and run \`jobtide replay\`. If the loss is intended, publish once with --accept-shrink.`,
  )
}

/**
 * Refuses another journal or an older suppression list, whatever they hold. Returns whether fewer rows are
 * accepted: an operator who adopts a destination has seen the counts of both sides.
 */
function canReplace(
  before: StoredManifest,
  now: Source | StoredManifest,
  destination: string,
  { adoptDestination = false, acceptShrink = false, lists }: Choices,
): boolean {
  const isAnother = before.journal_id !== now.journal_id
  if (isAnother && !adoptDestination) {
    const made = 'tables' in now ? now : null
    // Every event costs credits; a warehouse with rows and no bill was made from a snapshot.
    const advice =
      made?.credits.total === 0 && made.coverage.organizations === 0
        ? 'A restored warehouse has no journal: to continue there, publish once with --adopt-destination.'
        : 'Check that this is the right data directory, and that its volume is mounted. If it should replace the other, publish once with --adopt-destination. Otherwise name another destination with --snapshot-to.'
    throw refusal(
      before,
      destination,
      `${destination} is fed from another journal: ${journalText(before)}, ${countsText(before)}; this data directory is ${journalText(now)}${made === null ? '' : `, ${countsText(made)}`}`,
      `${keptText(before)} ${advice}`,
    )
  }
  // A list includes all earlier ones. The operator sees only numbers, and the list of an older backup would let people
  // come back, so no option accepts it.
  const [was, is] = [before.not_kept, now.not_kept]
  const isLater = was.list === null || lists.includes(was.list) || adoptDestination
  const since = ({ events_before: day }: NotKept) => (day === null ? 0 : Date.parse(day))
  if (isLater && is.people >= was.people && since(is) >= since(was))
    return acceptShrink || isAnother
  const erased = ({ people, events_before: day }: NotKept) =>
    `${shown(people)} erased${day === null ? '' : `, and no events from before ${day}`}`
  throw refusal(
    before,
    destination,
    `erased people would come back: the suppression list here knows of ${erased(is)}, and does not follow that of the snapshot that readers of ${destination} see, which knows of ${erased(was)}`,
    `${keptText(before)} Put the newest suppressed.json back and run \`jobtide replay\`. If only an older one is left, forget again everyone who was erased since, and publish once with --adopt-destination.`,
  )
}

function refusal(before: StoredManifest, destination: string, what: string, hint: string) {
  const { snapshot_id } = before
  return new RefusedError(what, { hint, context: { destination, snapshot_id } })
}

/** The tables that hold everything bought. Others may have rows of their own, such as those of a list that ships. */
const BOUGHT: ReadonlySet<string> = new Set(['job_change_events', 'answers'])

/** Whether a snapshot shows nothing that was bought, and no organisation that was read to its end. */
export function isEmpty({ tables, coverage }: StoredManifest): boolean {
  const bought = tables.filter(({ name }) => BOUGHT.has(name))
  const decisive = bought.length === 0 ? tables : bought
  return coverage.organizations === 0 && decisive.every(({ rows }) => rows === 0)
}

/** The table that never loses rows on its own: events are merged, and only erased on purpose. */
const EVENTS = 'job_change_events'
/** The share of events or organisations that may disappear: events that a newer version rejects, ids that merge. */
const SMALL_SHARE = 0.05
/** A smaller table can lose all rows by one correction. */
const FEW_ROWS = 20
/** How far coverage may be ahead of this machine's clock; see coveredBy in src/journal/coverage.ts. */
const AHEAD_MS = 5 * MINUTE

function lossesOf(before: StoredManifest, now: Manifest): string[] {
  const losses: string[] = []
  const lose = (what: string, was: number | string, is: number | string | null) =>
    losses.push(`${what} ${shown(was)} → ${shown(is)}`)
  // Rows that Jobtide erased are not a loss; erasing never removes coverage.
  const { people, events_before: eventsBefore } = now.not_kept
  const hasErased =
    people > before.not_kept.people || eventsBefore !== before.not_kept.events_before
  for (const { name, rows } of hasErased ? [] : before.tables) {
    // A missing table is a change of schema, which has its own refusal.
    const left = now.tables.find((table) => table.name === name)?.rows ?? rows
    const isLost = name === EVENTS ? isFarLess(left, rows) : left === 0 && rows >= FEW_ROWS
    if (isLost) lose(`rows of ${name}`, rows, left)
  }
  const [was, is] = [before.coverage, now.coverage]
  if (isFarLess(is.organizations, was.organizations))
    lose('organisations covered', was.organizations, is.organizations)
  const [to, end] = [was.covered_to.max, is.covered_to.max]
  // Coverage up to a time in the future was reported by clocks that were ahead, and is void.
  const canBe = to !== null && Date.parse(to) <= Date.parse(now.created_at) + AHEAD_MS
  if (canBe && (end === null || Date.parse(end) < Date.parse(to))) lose('covered up to', to, end)
  return losses
}

/**
 * Refuses a snapshot without tables or columns that readers have, or with a column of another type. If another version
 * wrote the snapshot, the change is an upgrade and only a warning: CHANGELOG.md names what it renamed.
 * @throws PublishError
 */
export function refuseSchemaChange(
  before: StoredManifest,
  now: Manifest,
  options: {
    acceptSchemaChange?: boolean
    isOwn?: (table: string) => boolean
    logger: Logger
  },
): void {
  const { acceptSchemaChange = false, isOwn = () => false, logger } = options
  const { destination } = now
  if (!isOfThisFormat(before)) {
    // An older version had other tables, so its columns are not compared.
    const { format_version: format, snapshot_id: snapshot } = before
    return logger.warn({ format, snapshot, at: destination }, 'publish.older_format_replaced')
  }
  if (acceptSchemaChange) return
  const changes = (isOfUser: boolean) => {
    const tables = before.tables.filter(({ name }) => isOwn(name) === isOfUser)
    return incompatibilities(tables, now.tables)
  }
  for (const reason of changes(true)) logger.warn({ reason }, 'publish.own_table_changed')
  const found = changes(false)
  if (found.length === 0) return
  const { jobtide: wrote } = before.versions
  if (wrote !== now.versions.jobtide) {
    const first = found.slice(0, 3).join('; ')
    const reason = `since Jobtide ${wrote}, ${found.length} tables or columns of ${destination} were removed or changed type: ${first}; CHANGELOG.md has them all`
    return logger.warn({ reason }, 'publish.tables_changed')
  }
  throw new PublishError(`queries over ${destination} could break: ${firstOf(found, 3)}`, {
    hint: 'If readers are ready for that, run `jobtide publish --accept-schema-change` once. Or publish to a new destination.',
  })
}

/** Changes that break readers. New tables and columns do not count. */
function incompatibilities(before: readonly ManifestTable[], now: readonly ManifestTable[]) {
  return before.flatMap(({ name, schema, rows }) => {
    const current = now.find((table) => table.name === name)
    // Without rows it belongs to an endpoint that was never asked.
    if (current === undefined) return rows === 0 ? [] : [`table ${name} is gone`]
    return schema.flatMap((column) => {
      const type = current.schema.find((own) => own.name === column.name)?.type
      if (type === column.type) return []
      const is = type === undefined ? 'is gone' : `is ${type}, and was ${column.type}`
      return [`${name}.${column.name} ${is}`]
    })
  })
}

function isFarLess(now: number, before: number): boolean {
  return now < before * (1 - SMALL_SHARE)
}

export function firstOf(all: readonly string[], most: number): string {
  const more = all.length > most ? `; and ${all.length - most} more` : ''
  return all.slice(0, most).join('; ') + more
}

function keptText({ snapshot_id: id }: StoredManifest): string {
  return `Nothing was uploaded, and readers keep snapshot ${id}.`
}

function countsText({ tables, coverage }: StoredManifest): string {
  const { rows } = totalsOf({ tables })
  const events = tables.find(({ name }) => name === EVENTS)?.rows ?? 0
  const covered = countText(coverage.organizations, 'organisation')
  return `${shown(rows)} rows (${shown(events)} of them events), ${covered} covered`
}

function journalText({ journal_id: id }: Source): string {
  const begunAt = ulidTime(id)
  return `${id}${Number.isNaN(begunAt) ? '' : ` of ${isoInstant(begunAt).slice(0, 10)}`}`
}

function shown(value: number | string | null): string {
  return typeof value === 'number' ? numberText(value) : (value ?? 'nothing')
}
