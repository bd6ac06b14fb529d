/** Writes the opening of a report: whether people are lost, where, and compared with the year before. Pure. */

import { countText, numberText } from '../support/numbers.ts'
import { DAY } from '../support/units.ts'
import { percentText, rangeText, shown } from './html.ts'
import type { ReportHead } from './read-report.ts'
import type { Attrition, Grade, Observed, Year } from './rows.ts'
import { dayText, monthText } from './window.ts'

export const QUESTION = 'Are people being lost?'

/** Below this share of the people, a comparison with the year before says little about all of them. */
const ENOUGH_COMPARED = 0.5
const YEAR = 12
/** An organisation with fewer people has no rate; see attrition. */
const LEAST_PEOPLE = 10

/** The answer as sentences; the first one answers. */
export function answerOf({ year, attrition }: Pick<ReportHead, 'year' | 'attrition'>): string[] {
  if (year.month_on === null) return ['Not known: nothing was fetched yet.']
  const sentences = [countsSentence(year, monthText(Date.parse(year.month_on)))]
  const rate = rateSentence(year)
  if (rate === null) return [...sentences, noRateYet(year)]
  const where = whereSentence(year, attrition)
  return [...sentences, rate, ...(where === null ? [] : [where])]
}

function countsSentence(year: Year, month: string): string {
  const { joined, went, joined_before, went_before } = year
  const span = `in the ${monthsText(year.months ?? YEAR)} to ${month}`
  if (joined + went === 0) return `Not known: no one was seen to join or to leave ${span}.`
  const before =
    joined_before === null || went_before === null
      ? ''
      : `, after ${numberText(went_before)} and ${numberText(joined_before)} the year before`
  const counts = `${countText(went, 'person', 'people')} left and ${numberText(joined)} joined ${span}${before}.`
  // Two standard deviations of a difference of two counts: by chance alone the two differ by less in 95 of 100 cases.
  const chance = 2 * Math.sqrt(went + joined)
  if (went - joined > chance) return `Yes: ${counts}`
  if (joined - went > chance) return `No: ${counts}`
  return `About as many came as went: ${counts}`
}

function rateSentence({ rate, rate_low: low, rate_high: high, grade, ...year }: Year) {
  if (rate === null || low === null) return null
  // The counts before it are of all organisations that were observed.
  const whose =
    year.rated < year.organizations
      ? `At the ${numberText(year.rated)} of ${countText(year.organizations, 'organisation')} with a rate, `
      : ''
  const now = `${whose}${percentText(rate)} of the people left in that time`
  const sure = `${rangeText(low, high)}, ${gradeText(grade ?? 'D')}`
  const { rate_compared: compared, rate_before: before } = year
  if (compared === null || before === null || year.compared < ENOUGH_COMPARED * year.rated) {
    return `${now} (${sure}).`
  }
  const step = compared > before ? 'up from' : 'down from'
  return percentText(compared) === percentText(before)
    ? `${now} (${sure}), the same as the year before.`
    : `${now} (${sure}), ${step} ${percentText(before)} the year before.`
}

/** The organisation that most exceeded its expected losses; in a report about one organisation, the function. */
function whereSentence({ rated }: Year, attrition: readonly Attrition[]): string | null {
  const part = rated > 1 ? 'organization' : 'function'
  const [first] = attrition.filter((one) => one.part === part)
  if (first === undefined || first.more <= 0) return null
  const name =
    part === 'organization' ? `at ${shown(first.name) ?? '–'}` : `in ${roleText(first.name)}`
  const before =
    first.rate_before === null
      ? 'than at the average rate'
      : `than at its rate of the year before, ${percentText(first.rate_before)}`
  return `Most of all ${name}: ${percentText(first.rate)} left, ${numberText(first.more)} more people ${before}.`
}

/** What a rate of each grade is good for, as in docs/managers.md. */
export const GRADES: Readonly<Record<Grade, string>> = {
  A: 'to quote and compare',
  B: 'to quote with its range',
  C: 'only to rank organisations',
  D: 'shows only that people leave',
}

/** `grade C: only to rank organisations`. */
export function gradeText(grade: Grade): string {
  return `grade ${grade}: ${GRADES[grade]}`
}

function monthsText(months: number): string {
  return months === YEAR ? 'twelve months' : countText(months, 'month')
}

const ABBREVIATED: Readonly<Record<string, string>> = {
  cxo: 'C-level',
  vp: 'VP',
  hr: 'HR',
  it: 'IT',
}

/** A function or a level in words: `general_management` → `general management`, `cxo` → `C-level`. */
export function roleText(role: string): string {
  return ABBREVIATED[role] ?? role.replaceAll('_', ' ')
}

/** Says why there is no rate, and when the first one will exist. */
export function noRateYet({ is_from_beginning, people_seen, ...observed }: Observed): string {
  const { month_on: month, observed_since_on: from, first_rate_on: first } = observed
  if (month === null) return 'Nothing was fetched yet.'
  if (people_seen < LEAST_PEOPLE)
    return `No rate: it takes ${LEAST_PEOPLE} people, and fewer were ever seen.`
  // The first of the month after the one of the rate.
  const isToCome =
    from !== null && first !== null && Date.parse(first) - Date.parse(month) > 31 * DAY
  if (!isToCome) return `No rate: it takes ${LEAST_PEOPLE} people on average, and there were fewer.`
  const since = is_from_beginning === true ? 'first change in' : 'observed since'
  return `No rate yet: ${since} ${monthText(Date.parse(from))}, first rate on ${dayText(Date.parse(first))}.`
}
