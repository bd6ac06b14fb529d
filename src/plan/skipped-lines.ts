/** Lines of a list that name nothing. They are skipped, and every command that reads the list says so. Pure. */

import { ConfigError } from '../support/errors.ts'
import type { Logger } from '../support/logger.ts'
import { countText, numberText } from '../support/numbers.ts'

export interface SkippedLines {
  readonly list: string
  readonly lines: readonly number[]
  /** Lines that name an entry. */
  readonly used: number
}

/** @returns nothing where no line was skipped */
export function skippedOf(list: string, lines: readonly number[], used: number): SkippedLines[] {
  return lines.length === 0 ? [] : [{ list, lines, used }]
}

const SHOWN = 10
const KEPT = 100

/** In words: `crm.csv: 2 lines skipped, without an id or URL: 4, 7`. */
export function skippedText({ list, lines }: SkippedLines): string {
  const more = lines.length - SHOWN
  const shown = lines.slice(0, SHOWN).join(', ')
  const rest = more > 0 ? ` and ${numberText(more)} more` : ''
  return `${list}: ${countText(lines.length, 'line')} skipped, without an id or URL: ${shown}${rest}`
}

// A list may have some rows about something else. A damaged list, or one read by the wrong column, has many.
const MANY_LINES = 10
const MANY_SHARE = 0.1

/** A list that lost 10 lines or more, and over a tenth of it, is not the intended one; null for none. */
export function damageOf(skipped: readonly SkippedLines[]) {
  const damaged = skipped.find(
    ({ lines: { length }, used }) => length >= MANY_LINES && length > MANY_SHARE * (length + used),
  )
  if (damaged === undefined) return null
  const left = `${countText(damaged.used, 'line')} ${damaged.used === 1 ? 'is' : 'are'} left`
  return {
    message: `${skippedText(damaged)}; ${left}`,
    hint: 'Write an organization_id or company_url into these lines, or put # before each line that you do not watch.',
  }
}

/** @throws ConfigError for a list that {@link damageOf} finds */
export function refuseDamaged(skipped: readonly SkippedLines[]): void {
  const damage = damageOf(skipped)
  if (damage !== null) throw new ConfigError(damage.message, { hint: damage.hint })
}

export function tellSkipped(logger: Logger, skipped: readonly SkippedLines[]): void {
  for (const one of skipped) logger.warn({ reason: skippedText(one) }, 'lines_skipped')
}

/** For programs: the number of all lines, and the first hundred of each list. */
export function skippedValues(skipped: readonly SkippedLines[]): object[] {
  return skipped.map(({ list, lines }) => ({
    list,
    count: lines.length,
    lines: lines.slice(0, KEPT),
  }))
}
