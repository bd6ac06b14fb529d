/**
 * The records of the journal. A record is a small JSON header, and for pages and plans a payload. Headers hold
 * everything that was requested, bought and covered; only `load` needs the payloads of pages.
 *
 * Instants are milliseconds since 1970 UTC on this machine's clock, except `server_at`: that is the service's own time,
 * as far as it is believed (clock-history.ts).
 */

import type { ExitCode } from '../support/errors.ts'
import type { Uptime } from '../support/clock.ts'

/** One batch of at most 50 organisations × one window × the event types asked × the filters. */
export interface BatchRecord {
  readonly batch_id: string
  readonly organizations: readonly OrganizationRef[]
  /** Window in days of detection time, 1 to 365; null asks for all events. */
  readonly days_ago: number | null
  readonly event_types: readonly EventType[]
  /** Its filters; absent asks for all changes. */
  readonly filters?: Filters
  /** Pages with events that the plan expected; absent in batches that were split. */
  readonly expected_pages?: number
  /** A part of a batch that was too wide: before its first page we ask whether it is still too wide. */
  readonly part_of_wide?: true
  /** Its pages were not one list when it was read before: before its first page we ask whether lists end. */
  readonly was_endless?: true
}

/** Filters of a question about job changes: in the form and under the names of the service. */
export interface Filters {
  readonly title?: string
  /** A part of the name of the city that the person is in. */
  readonly geo_city?: string
  /** Its country: two letters, upper case. */
  readonly geo_country_code?: string
}

/** A company in requests: its stable id, or its page URL or slug until the id is known. */
export interface OrganizationRef {
  readonly by: 'id' | 'url'
  readonly value: string
}

/** A lookup: one thing that a run of `kind: collect` asks an endpoint for, a company page, a posting, a search. */
export interface LookupRecord {
  /** Named within its run, as a batch is. */
  readonly batch_id: string
  /** Names the request permanently; see lookupKey. */
  readonly lookup_key: string
  readonly subject: string
  readonly request: Readonly<Record<string, unknown>>
}

export const EVENT_TYPES = ['joined', 'left', 'title_change'] as const
export type EventType = (typeof EVENT_TYPES)[number]

interface Of<Kind extends string> {
  readonly kind: Kind
  readonly at: number
}

interface OfRun<Kind extends string> extends Of<Kind> {
  readonly run_id: string
}

interface OfBatch<Kind extends string> extends OfRun<Kind> {
  readonly batch_id: string
}

interface OfRequest<Kind extends string> extends OfBatch<Kind> {
  readonly page: number
  readonly request_id: string
}

interface OfAnswer<Kind extends string> extends OfRequest<Kind> {
  readonly requested_at: number
}

/** A run was planned. Payload: JSON of `BatchRecord[]`. */
export interface RunStarted extends OfRun<'run_started'> {
  readonly pipeline: string
  /** `plan` if it began as a forecast (`plan --sample`). */
  readonly command: 'run' | 'backfill' | 'extract' | 'plan' | 'find'
  readonly organizations: number
  readonly batches: number
  readonly credits_limit: number | null
  /** Its planned cost; absent if the plan had to guess. */
  readonly expected_credits?: number
  /** Hash of the question: a run is resumed only for the same question. */
  readonly question_sha256: string
  /** Earlier spending, as known to a warehouse whose journal was lost: the run began again; absent for any other. */
  readonly spent_before?: readonly SpentBefore[]
  /** Where the journal is backed up: known by it where journal.backup.json is lost. Absent before 0.17. */
  readonly backups?: readonly { readonly place: string; readonly s3: object }[]
}

/** Credits of a pipeline on a UTC day, `2026-11-20`. */
export interface SpentBefore {
  readonly pipeline: string
  readonly day: string
  readonly credits: number
}

/** A stopped run is resumed. Payload: JSON of the `BatchRecord[]` that it requests in addition to its own. */
export interface RunResumed extends OfRun<'run_resumed'> {
  /** Hash of the question from here on; absent when it is unchanged. */
  readonly question_sha256?: string
}

/**
 * A run asks with filters from here on, as its batches say. Versions before filters would treat such a batch as
 * everything about its organisations; this record makes them refuse the journal.
 */
export interface QuestionFiltered extends OfRun<'question_filtered'> {
  readonly filters: Filters
}

/** The lookups of a run of `kind: collect` are planned. Payload: JSON of `LookupRecord[]`. */
export interface LookupsPlanned extends OfRun<'lookups_planned'> {
  readonly endpoint: string
}

/** Written before each request leaves, so that no charge can go unseen. */
export interface RequestSent extends OfRequest<'request_sent'> {
  /** The most that it may cost; absent for 10, the price of a page of job changes. */
  readonly price?: number
}

/** A step back of all clocks, milliseconds since 1970 UTC. */
export interface WentBack {
  /** The time that they would show if answers before were right. */
  readonly from: number
  readonly to: number
}

/** Clocks that do not agree. Milliseconds since 1970 UTC. */
export interface ClockDispute {
  /** The answer's `Date`; this machine's clock where it has none. */
  readonly date: number
  /** The service's time was not before this. */
  readonly earliest: number
  /** The service's time was not after this. */
  readonly latest: number
  /** The `Date` did not fit the earlier ones, and was not believed. */
  readonly jump?: true
  /**
   * The clocks show an earlier time than previous answers: either were or are wrong. Coverage after `earliest` is void.
   */
  readonly wentBack?: WentBack
}

/** A page that was paid for (or was empty). Payload: the body as received. */
export interface PageReceived extends OfAnswer<'page_received'> {
  readonly server_at: number
  /** Where the answer's `Date` and other clocks did not agree; absent where they did. */
  readonly clocks?: ClockDispute
  readonly status: number
  readonly events: number
  /** The credits that the page counts as. */
  readonly credits_used: number
  /** `credit_used` as sent, where it is not believed; see chargeOfPage. */
  readonly credits_sent?: string
  readonly has_more: boolean
  /** The page size of the service in events; absent for 50, and if it does not say. */
  readonly counted_by?: number
  readonly body_sha256: string
  /** The request was a probe: its answer does not count as a page of the batch. */
  readonly free_probe?: true
  /** A short mark of each event, in the order of the page; see batch-history.ts. Absent where the batch is a single page. */
  readonly keys?: string
  /** Events of each organisation in the page. */
  readonly seen: readonly SeenOrganization[]
  /**
   * Ids of organisations in it that the batch did not ask for: their events are rejects and are missing from `seen`.
   */
  readonly foreign?: readonly string[]
  /**
   * Events that were removed from the body since, because they are not kept. All else in this header, `body_sha256`
   * included, is of the page as it was received and billed; only the keys in `keys` are empty for them.
   */
  readonly erased?: number
}

/** An organisation in a page: its id, its events, and how many of these were detected in the last 365 days. */
export type SeenOrganization = readonly [organizationId: string, events: number, recent: number]

/** An answer to a lookup. Payload: the body as received, without what is not kept. */
export interface AnswerReceived extends OfAnswer<'answer_received'> {
  readonly endpoint: string
  readonly lookup_key: string
  readonly subject: string
  readonly status: number
  /**
   * `absent`: there is nothing of that name, which is a valid answer; `later`: the service asks us to retry; `refused`:
   * it says why it does not search.
   */
  readonly outcome: 'found' | 'absent' | 'later' | 'refused'
  /** Why it was refused, in the service's words; absent for any other. */
  readonly reason?: string
  readonly items: number
  /** The credits in doubt; absent for 10. */
  readonly price?: number
  readonly credits_used: number
  /** `credit_used` as sent, where it is not believed. */
  readonly credits_sent?: string
  /** The price list does not name the charge. */
  readonly is_unexpected?: true
  /** How many items the list has, where it says so. */
  readonly total?: number
  /** Requests the next page, or the same one again; null after the last one. */
  readonly next: string | number | null
  readonly body_sha256: string
  /** As for a page: parts removed since. */
  readonly erased?: number
}

/** A delivery of a signal, moved from the inbox. Payload: the body as received. */
export interface DeliveryReceived extends Of<'delivery_received'> {
  /** A ULID: a delivery that is loaded twice counts once. */
  readonly delivery_id: string
  /** As for a page: parts removed since. */
  readonly erased?: number
}

/** Records with a payload that may name people. */
export const NAMING = [
  'page_received',
  'lookups_planned',
  'answer_received',
  'delivery_received',
] as const

export interface RequestFailed extends OfAnswer<'request_failed'> {
  readonly status: number | null
  /** The credits in doubt; absent for 10. */
  readonly price?: number
  readonly error: string
  /** False when the service certainly charged nothing; true when it may have. */
  readonly in_doubt: boolean
  /** The credits that count if the answer names other ones than the price; absent where the price counts. */
  readonly credits_named?: number
}

/** A batch was read to its end: its organisations are covered for that time. Payload: JSON of its `BatchRecord`. */
export interface BatchFinished extends OfBatch<'batch_finished'> {
  readonly pages: number
  readonly events: number
  /** Server time; null means from the beginning. */
  readonly covered_from: number | null
  readonly covered_to: number
}

export interface SplitPayload {
  readonly batch: BatchRecord
  readonly instead: readonly BatchRecord[]
}

/** A batch was replaced by smaller ones. Payload: JSON of `SplitPayload`. */
export interface BatchSplit extends OfBatch<'batch_split'> {
  readonly reason: string
}

/** A company could not be requested and was left out. */
export interface OrganizationQuarantined extends OfRun<'organization_quarantined'> {
  readonly organization: OrganizationRef
  readonly reason: string
}

/** The id of a company that was requested by URL or slug became known from its events. */
export interface OrganizationLearnt extends OfRun<'organization_learnt'> {
  readonly organization: OrganizationRef
  readonly organization_id: string
}

/**
 * The organisations known to a warehouse: 0.11 and 0.12 could make a journal of them. No longer written. Payload: JSON
 * of `SalvagedOrganization[]`.
 */
export type OrganizationsSalvaged = Of<'organizations_salvaged'>

export interface SalvagedOrganization {
  /** Its id, or the URL or slug it was asked by until the id is known. */
  readonly name: string
  readonly first_asked: number
  readonly last_asked: number
  readonly covered: readonly {
    readonly event_types: readonly EventType[]
    /** Null means from the beginning. */
    readonly from: number | null
    readonly to: number
  }[]
}

/** The service named a time before which it accepts no request, to a run or (null) to another command. */
export interface Paused extends Omit<OfRun<'paused'>, 'run_id'> {
  readonly run_id: string | null
  readonly not_before: number
  /** The uptime of this machine at `at`; absent if unknown. */
  readonly uptime?: Uptime
  readonly reason: string
  /** The operator lifted all pauses recorded before. */
  readonly lifts_earlier?: true
}

export type RunOutcome =
  'done' | 'sampled' | 'budget' | 'unavailable' | 'refused' | 'interrupted' | 'failed' | 'abandoned'

/** Whether a run can be resumed after it. */
export function isResumable(outcome: RunOutcome): boolean {
  return outcome !== 'done' && outcome !== 'abandoned'
}

export type StageSeconds = Partial<
  Record<'extract' | 'backup' | 'load' | 'build' | 'publish', number>
>

/** A run ended. A run without this record was killed and can be resumed. */
export interface RunFinished extends OfRun<'run_finished'> {
  readonly outcome: RunOutcome
  readonly exit_code: ExitCode
  readonly message: string | null
  /** How long each stage of the process that ended it took, in seconds; absent for stages not reached. */
  readonly stage_seconds?: StageSeconds
  /** Events that its load refused; absent where none was loaded. */
  readonly rejected?: number
}

/** A snapshot's pointer was moved. */
export interface SnapshotPublished extends Of<'snapshot_published'> {
  readonly run_id: string | null
  readonly snapshot_id: string
  readonly destination: string
  readonly tables: number
  readonly files: number
  readonly new_files: number
  readonly rows: number
  readonly bytes: number
  readonly new_bytes: number
}

/** The suppression list has changed: one with a lower number is not the newest. */
export interface SuppressionChanged extends Of<'suppression_changed'> {
  readonly generation: number
  /** As in the list; useless without the key. */
  readonly mac: string
}

export interface Seal extends Of<'seal'> {
  readonly records: number
  /** SHA-256 of every byte of the segment before this record. */
  readonly sha256: string
}

export type JournalRecord =
  | RunStarted
  | RunResumed
  | QuestionFiltered
  | LookupsPlanned
  | RequestSent
  | PageReceived
  | AnswerReceived
  | DeliveryReceived
  | RequestFailed
  | BatchFinished
  | BatchSplit
  | OrganizationQuarantined
  | OrganizationLearnt
  | OrganizationsSalvaged
  | Paused
  | RunFinished
  | SnapshotPublished
  | SuppressionChanged
  | Seal

const KINDS: Readonly<Record<JournalRecord['kind'], true>> = {
  run_started: true,
  run_resumed: true,
  question_filtered: true,
  lookups_planned: true,
  request_sent: true,
  page_received: true,
  answer_received: true,
  delivery_received: true,
  request_failed: true,
  batch_finished: true,
  batch_split: true,
  organization_quarantined: true,
  organization_learnt: true,
  organizations_salvaged: true,
  paused: true,
  run_finished: true,
  snapshot_published: true,
  suppression_changed: true,
  seal: true,
}

/** Whether this version reads records of that kind: a newer one may write others. */
export function isKnownKind(kind: string): boolean {
  return Object.hasOwn(KINDS, kind)
}
