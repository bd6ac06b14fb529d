/** Lines of a list that name nothing. They are left out, and every command that reads the list says so. Pure. */

import type { Logger } from '../support/logger.ts'
import { countText, numberText } from '../support/numbers.ts'

export interface SkippedLines {
  /** Name of the file. */
  readonly list: string
  readonly lines: readonly number[]
}

/** @returns nothing where no line was skipped */
export function skippedOf(list: string, lines: readonly number[]): readonly SkippedLines[] {
  return lines.length === 0 ? [] : [{ list, lines }]
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

/** A warning for each list. */
export function tellSkipped(logger: Logger, skipped: readonly SkippedLines[]): void {
  for (const one of skipped) logger.warn({ reason: skippedText(one) }, 'lines_skipped')
}

/** For programs: all of them counted, the first hundred of a list named. */
export function skippedValues(skipped: readonly SkippedLines[]): object[] {
  return skipped.map(({ list, lines }) => ({
    list,
    count: lines.length,
    lines: lines.slice(0, KEPT),
  }))
}
