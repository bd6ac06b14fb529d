/** How well labelled titles and changes of title are understood: the figures, and the tables that show them. */

import { parse } from 'csv-parse/sync'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compareTitles } from '../../src/titles/compare.ts'
import { understandTitle } from '../../src/titles/understand.ts'

/** Which half of the labelled titles: the one that rules were tried on, or the one that is only measured. */
export type Part = 'dev' | 'test'

export interface LabelledTitle {
  readonly title: string
  readonly level: string
  readonly management: string
  readonly function: string
  /** Where it was found; `written` where it was made up after the trade. */
  readonly source: string
}

export interface LabelledPair {
  readonly previous: string
  readonly current: string
  readonly label: string
  /** As for titles. */
  readonly source: string
}

/** One answer: what people say, and what the rules say. */
export interface Answer {
  readonly expected: string
  readonly actual: string
}

const labelledFolder = join(import.meta.dirname, 'labelled')

/** The labelled titles of one part. */
export function labelledTitles(part: Part): LabelledTitle[] {
  return readCsv<LabelledTitle>(join(labelledFolder, `titles.${part}.csv`))
}

/** The labelled changes of title of one part. */
export function labelledPairs(part: Part): LabelledPair[] {
  return readCsv<LabelledPair>(join(labelledFolder, `pairs.${part}.csv`))
}

/** Rows of a CSV file with a header; none when it is absent. */
export function readCsv<Row>(path: string): Row[] {
  return existsSync(path) ? parse(readFileSync(path, 'utf8'), { columns: true, bom: true }) : []
}

/**
 * What the rules say of each title: its level, whether it manages, its function. The last two only of titles that people
 * understand.
 */
export function answersForTitles(titles: readonly LabelledTitle[]): {
  readonly level: Answer[]
  readonly management: Answer[]
  readonly function: Answer[]
} {
  const read = titles.map((labels) => ({ labels, understood: understandTitle(labels.title) }))
  const known = read.filter(({ labels }) => labels.level !== 'unknown')
  return {
    level: read.map(({ labels, understood }) => ({
      expected: labels.level,
      actual: understood.level,
    })),
    management: known.map(({ labels, understood }) => ({
      expected: labels.management,
      actual: String(understood.isManagement ?? 'unknown'),
    })),
    function: known.map(({ labels, understood }) => ({
      expected: labels.function,
      actual: understood.function,
    })),
  }
}

/** What the rules say of each change of title. */
export function answersForPairs(pairs: readonly LabelledPair[]): Answer[] {
  return pairs.map(({ previous, current, label }) => ({
    expected: label,
    actual: compareTitles(previous, current).label,
  }))
}

/** Right answers among all, 0 to 1; an answer that abstains is not right. */
export function accuracy(answers: readonly Answer[]): number {
  return answers.filter(({ expected, actual }) => expected === actual).length / answers.length
}

/** Precision, recall and F1 of one label, each 0 to 1. */
export function quality(
  answers: readonly Answer[],
  label: string,
): { readonly precision: number; readonly recall: number; readonly f1: number } {
  const right = answers.filter(({ expected, actual }) => expected === label && actual === label)
  const precision = right.length / answers.filter(({ actual }) => actual === label).length
  const recall = right.length / answers.filter(({ expected }) => expected === label).length
  return { precision, recall, f1: (2 * precision * recall) / (precision + recall) }
}

/** A confusion matrix in Markdown: a row for what people say, a column for what the rules say. */
export function confusionTable(answers: readonly Answer[], labels: readonly string[]): string {
  const seen = labels.filter((label) =>
    answers.some(({ expected, actual }) => expected === label || actual === label),
  )
  const rows = seen.map((expected) => {
    const ofRow = answers.filter((answer) => answer.expected === expected)
    const counts = seen.map((actual) => ofRow.filter((answer) => answer.actual === actual).length)
    return [expected, ...counts.map((count) => (count === 0 ? '·' : String(count)))]
  })
  return markdownTable(['is \\ read as', ...seen], rows)
}

/** A table in Markdown, the first column to the left, the others to the right. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [
    line(head),
    line(head.map((_, at) => (at === 0 ? '---' : '--:'))),
    ...rows.map(line),
  ].join('\n')
}
