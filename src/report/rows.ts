/** The rows that the queries sql/reports/report_*.sql return; those that `--json` prints as schemas. */

import { z } from 'zod'
import { amount, count, fields, flag, orNull, text } from '../support/fields.ts'

const ofOrganization = fields(text, 'organization_id organization')
export type OfOrganization = Readonly<Record<keyof typeof ofOrganization, string>>
type Numbers<Name extends string> = Readonly<Record<Name, number>>
type Texts<Name extends string> = Readonly<Record<Name, string>>

/** How many changes of a kind became known in the window; side roles and transfers are not among `changes`. */
export const countRow = z.object({
  change: z.enum(['joined', 'left', 'rose']),
  /** `transfers`: those of main jobs. */
  ...fields(count, 'changes executives side_roles transfers'),
  /** In the time of equal length before it; null where that was not read for all organisations, or most were not seen yet. */
  changes_before: orNull(count),
})
export type Count = Readonly<z.output<typeof countRow>>
export type ChangeKind = Count['change']

export const changeRow = z.object({
  ...ofOrganization,
  ...fields(text, 'event_key level changed_on known_on'),
  change: z.enum(['joined', 'left', 'rose']),
  ...fields(orNull(text), 'person_full_name person_network_url title_before title_after'),
  ...fields(orNull(text), 'from_organization to_organization'),
  ...fields(flag, 'is_executive was_announced'),
  /** How well `changed_on` is known. */
  precision: z.enum(['day', 'month', 'year']),
})
export type Change = Readonly<z.output<typeof changeRow>>

export const organizationRow = z.object({
  ...ofOrganization,
  /** `organizations`: how many there are in all. */
  ...fields(count, 'joined went rose executives_joined executives_left organizations'),
  /** `transfers`: people who came by one, less those who went. */
  ...fields(z.int(), 'net transfers'),
})
export type OrganizationChanges = Readonly<z.output<typeof organizationRow>>

/** A month with a layoff or a hiring burst. */
export const burstRow = z.object({
  ...ofOrganization,
  change: z.enum(['joined', 'left']),
  month_start_on: text,
  /** `bursts`: how many there are in all. */
  ...fields(count, 'people bursts'),
  ...fields(amount, 'expected score'),
})
export type Burst = Readonly<z.output<typeof burstRow>>

/** Since when something was observed, and the last month. */
const observed = {
  /** First day of the last of the twelve months; null if nothing was observed. */
  month_on: orNull(text),
  /** When the first organisation began to be observed, or the month of its first change if `is_from_beginning`. */
  observed_since_on: orNull(text),
  /** Whether it was requested from the beginning: its `observed_from_on` is null. */
  is_from_beginning: orNull(flag),
  /** When the first rate will exist, given 10 people then. */
  first_rate_on: orNull(text),
  /** People who were ever seen at one organisation, the most. */
  people_seen: count,
}
export type Observed = Readonly<z.output<z.ZodObject<typeof observed>>>

const grade = z.enum(['A', 'B', 'C', 'D'])
export type Grade = z.output<typeof grade>

/** The share that left in twelve months, with its range and grade; all null where there is none. */
const rate = {
  ...fields(orNull(amount), 'rate rate_low rate_high rate_before'),
  grade: orNull(grade),
}

/** How many joined and left in twelve months and in the twelve before, and the share that left. */
export const yearRow = z.object({
  ...observed,
  ...rate,
  /** The number of months of `joined` and `went`: twelve, or fewer if most organisations were observed for less. */
  months: orNull(count),
  /** Organisations of the scope that were observed, and how many of them have a rate: the rates are of these together. */
  ...fields(count, 'organizations rated joined went'),
  /** In the twelve months before; null where not all organisations were asked for, or most were not observed, then. */
  ...fields(orNull(count), 'joined_before went_before'),
  /** How many of the rated had a rate a year before, theirs now, and, in `rate_before`, theirs then. */
  compared: count,
  rate_compared: orNull(amount),
})
export type Year = Readonly<z.output<typeof yearRow>>

/** The leavers of an organisation, or of a function or level of all organisations, in the twelve months of a `Year`. */
export interface Attrition extends Numbers<'leavers' | 'headcount' | 'rate' | 'rate_low'> {
  readonly part: 'organization' | 'function' | 'level'
  readonly organization_id: string | null
  readonly name: string
  readonly rate_high: number | null
  readonly rate_before: number | null
  /** How many more left than expected by the rate of the year before, or else by the overall rate. */
  readonly more: number
  /** Of a function or level: that of at least half of the people, or better. */
  readonly grade: Grade
  readonly rows_of_part: number
}

export interface TrendMonth extends OfOrganization, Observed, Pick<Year, keyof typeof rate> {
  readonly month_on: string
  readonly headcount: number
  /** How many of them were seen. */
  readonly seen: number
  readonly joined: number
  readonly went: number
  readonly doubts: string | null
}

export type Week = Texts<'week_from_at'> & Numbers<'joined' | 'went' | 'rose'>
export type Flow = Texts<'from_organization' | 'to_organization'> &
  Numbers<'moves' | 'moves_in_window' | 'all_moves' | 'all_moves_in_window'>

/** Figures of all organisations, and one organisation that was not read for the whole window; null if there is none. */
export interface CoverageRow {
  readonly organizations: number
  readonly whole: number
  /** How many were read for all of the period before the window. */
  readonly whole_before: number
  /** How many of them the service had seen by then, or were asked for from a day on. */
  readonly seen_before: number
  readonly oldest_watermark_at: string | null
  readonly newest_watermark_at: string | null
  readonly organization_id: string | null
  readonly organization: string | null
  readonly covered_to_at: string | null
}

export interface Freshness extends Numbers<'events_received' | 'credits' | 'credits_ever'> {
  readonly newest_detected_at: string | null
  readonly newest_received_at: string | null
  /** People under a profile, or an id of the organisation, that is not the one to keep. */
  readonly people_duplicated: number
}
