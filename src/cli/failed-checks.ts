/** What failed checks found, for people. Pure. */

import type { CheckOutcome } from '../model/check-outcome.ts'
import { countText, tableText } from './text.ts'

const INDENT = '    '

/** Each failed check with its offending rows below it, up to `width` characters wide. */
export function failedChecksText(failed: readonly CheckOutcome[], width: number): string {
  return failed.map((outcome) => outcomeText(outcome, width)).join('\n')
}

function outcomeText({ name, offenders, sample }: CheckOutcome, width: number): string {
  const more = offenders > sample.length ? `, the first ${sample.length} of them` : ''
  const head = Object.keys(sample[0] ?? {})
  const rows = sample.map((row) => head.map((column) => valueText(row[column])))
  const table = tableText(head, rows, { width: width - INDENT.length })
  const lines = table.split('\n').map((line) => `${INDENT}${line}`)
  return [`  ${name}: ${countText(offenders, 'row')}${more}`, ...lines].join('\n')
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return '–'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
