/**
 * Measures how well titles are understood, on labelled titles that no rule was tried on (test/titles/labelled names
 * their sources). The tables in config/titles/README.md must equal the measurement: `UPDATE=1 npx vitest run
 * test/titles/accuracy.test.ts` writes them.
 */

import { parse } from 'csv-parse/sync'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format } from 'prettier'
import { describe, expect, it } from 'vitest'
import { packageRoot } from '../../src/support/assets.ts'
import { compareTitles } from '../../src/titles/compare.ts'
import { FUNCTIONS, LEVELS } from '../../src/titles/taxonomy.ts'
import { understandTitle } from '../../src/titles/understand.ts'

/** Which labelled titles: the half that rules were tried on, the half that is only measured, or later ones that rules were tried on. */
type Part = 'dev' | 'test' | 'tried'

type Title = Record<'title' | 'level' | 'management' | 'function' | 'source', string>
type Pair = Record<'previous' | 'current' | 'label' | 'source', string>
type Side = Record<'title' | 'side_role', string>

/** One answer: the label, the result of the rules, and the source of the title (`written`: made up). */
interface Answer {
  readonly expected: string
  readonly actual: string
  readonly source: string
}

const titles = (part: Part) => labelled<Title>(`titles.${part}.csv`)
const pairs = (part: Part) => labelled<Pair>(`pairs.${part}.csv`)
const sides = (part: Part) => labelled<Side>(`sides.${part}.csv`)
const answers = { dev: answersOf('dev'), test: answersOf('test') }
const { change: changeTried, ...tried } = answersOf('tried')

function labelled<Row>(name: string): Row[] {
  const text = readFileSync(join(import.meta.dirname, 'labelled', name), 'utf8')
  return parse(text, { columns: true, bom: true })
}

/** The result of the rules for every title and pair; management and function only for titles that people understand. */
function answersOf(
  part: Part,
): Record<'level' | 'management' | 'function' | 'side role' | 'change', Answer[]> {
  const read = titles(part).map((label) => ({ label, got: understandTitle(label.title) }))
  const known = read.filter(({ label }) => label.level !== 'unknown')
  return {
    level: read.map(({ label, got }) => answer(label, label.level, got.level)),
    management: known.map(({ label, got }) =>
      answer(label, label.management, String(got.isManagement ?? 'unknown')),
    ),
    function: known.map(({ label, got }) => answer(label, label.function, got.function)),
    'side role': sides(part).map(({ title, side_role: expected }) =>
      answer({ source: 'written-3' }, expected, String(understandTitle(title).isSideRole)),
    ),
    change: pairs(part).map((pair) =>
      answer(pair, pair.label, compareTitles(pair.previous, pair.current).label),
    ),
  }
}

function answer({ source }: Pick<Title, 'source'>, expected: string, actual: string): Answer {
  return { expected, actual, source }
}

/** The percentage of right answers; an abstention is not right. */
function accuracy(of: readonly Answer[]): number {
  return (100 * of.filter(({ expected, actual }) => expected === actual).length) / of.length
}

/** Precision, recall and F1 of one label, in percent. */
function quality(of: readonly Answer[], label: string): readonly [number, number, number] {
  const count = (side: 'expected' | 'actual') => of.filter((one) => one[side] === label).length
  const right = of.filter(({ expected, actual }) => expected === label && actual === label).length
  const [precision, recall] = [(100 * right) / count('actual'), (100 * right) / count('expected')]
  return [precision, recall, (2 * precision * recall) / (precision + recall)]
}

describe('labelled titles and changes of title that no rule was tried on', () => {
  const { change, ...levels } = answers.test

  it.each([
    ['level', 98.5],
    ['management', 99],
    ['function', 97],
    ['side role', 97],
  ] as const)('%s is right for at least %s %%', (what, least) => {
    expect(levels[what].length).toBeGreaterThan(100)
    expect(accuracy(levels[what])).toBeGreaterThanOrEqual(least)
  })

  it('promotions have a precision of at least 97 % and a recall of at least 95 %', () => {
    expect(change.length).toBeGreaterThan(300)
    const [precision, recall] = quality(change, 'promotion')
    expect(precision).toBeGreaterThanOrEqual(97)
    expect(recall).toBeGreaterThanOrEqual(95)
  })

  it.each(['demotion', 'retitle', 'lateral'])('%s has an F1 of at least 92 %%', (label) => {
    expect(quality(change, label)[2]).toBeGreaterThanOrEqual(92)
  })

  it('are in one half only', () => {
    const keys = (part: Part) => [
      ...titles(part).map(({ title }) => title),
      ...pairs(part).map(({ previous, current }) => `${previous} → ${current}`),
      ...sides(part).map(({ title }) => `${title}: side role`),
    ]
    const others = new Set([...keys('dev'), ...keys('tried')])
    expect(keys('test').filter((key) => others.has(key))).toEqual([])
  })
})

describe('600 titles, 39 side roles and 102 changes, as people write them, that rules were tried on', () => {
  it.each([
    ['level', 99.5],
    ['management', 99.5],
    ['function', 98.5],
    ['side role', 90],
  ] as const)('%s is right for at least %s %%', (what, least) => {
    expect(tried[what].length).toBeGreaterThan(35)
    expect(accuracy(tried[what])).toBeGreaterThanOrEqual(least)
  })

  it('changes are right for at least 97 %', () => {
    expect(changeTried.length).toBe(102)
    expect(accuracy(changeTried)).toBeGreaterThanOrEqual(97)
  })
})

describe('config/titles/README.md', () => {
  it('shows the measured figures', async () => {
    const document = join(packageRoot, 'config', 'titles', 'README.md')
    const before = readFileSync(document, 'utf8')
    const after = await format(
      before.replace(
        /(<!-- measured -->\n)[\s\S]*?(<!-- end of measured -->)/,
        (_, begin: string, end: string) => `${begin}\n${measured()}\n\n${end}`,
      ),
      { parser: 'markdown' },
    )
    expect(after).toContain('| level right')
    if (process.env['UPDATE'] === '1') writeFileSync(document, after)
    else expect(before).toBe(after)
  })
})

// Labelled after the rules of 0.15 were final.
const LATEST = new Set(['written-3'])
const LABELS = ['promotion', 'demotion', 'lateral', 'retitle', 'unclassified']

function measured(): string {
  const all = () => true
  // Made-up titles are tidier than those that people write.
  const columns = [
    { of: answers.test, counts: all },
    { of: answers.test, counts: ({ source }: Answer) => !source.startsWith('written') },
    { of: answers.test, counts: ({ source }: Answer) => LATEST.has(source) },
    { of: answers.dev, counts: all },
  ]
  const percent = (value: number) => (Number.isNaN(value) ? '–' : `${value.toFixed(1)} %`)
  const row = (
    name: string,
    what: keyof typeof answers.test,
    cell: (of: readonly Answer[]) => string,
  ) => [name, ...columns.map(({ of, counts }) => cell(of[what].filter(counts)))]
  const figures = [
    row('titles', 'level', ({ length }) => String(length)),
    ...(['level', 'management', 'function'] as const).map((what) =>
      row(`${what} right`, what, (of) => percent(accuracy(of))),
    ),
    row('titles of side roles and of what sounds like one', 'side role', ({ length }) =>
      String(length),
    ),
    row('side role right', 'side role', (of) => (of.length === 0 ? '' : percent(accuracy(of)))),
    row('changes of title', 'change', ({ length }) => String(length)),
    ...LABELS.slice(0, -1).map((label) =>
      row(`${label}: precision / recall / F1`, 'change', (of) =>
        quality(of, label).map(percent).join(' / '),
      ),
    ),
  ]
  return [
    markdownTable(
      [
        '',
        'no rule tried on them',
        'of these found, not made up',
        'of these labelled last',
        'rules tried on them',
      ],
      figures,
    ),
    'Levels of the titles that no rule was tried on:',
    confusionTable(answers.test.level, [...LEVELS, 'unknown']),
    'Their functions:',
    confusionTable(answers.test.function, [...FUNCTIONS, 'unknown']),
    'Changes of title that no rule was tried on:',
    confusionTable(answers.test.change, LABELS),
  ].join('\n\n')
}

/** A confusion matrix in Markdown: rows are labels, columns are results of the rules. */
function confusionTable(of: readonly Answer[], labels: readonly string[]): string {
  const seen = labels.filter((label) =>
    of.some(({ expected, actual }) => expected === label || actual === label),
  )
  const rows = seen.map((label) => {
    const ofRow = of.filter(({ expected }) => expected === label)
    const counts = seen.map((read) => ofRow.filter(({ actual }) => actual === read).length)
    return [label, ...counts.map((count) => (count === 0 ? '·' : String(count)))]
  })
  return markdownTable(['is \\ read as', ...seen], rows)
}

/** A table in Markdown, the first column to the left, the others to the right. */
function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const border = line(head.map((_, at) => (at === 0 ? '---' : '--:')))
  return [line(head), border, ...rows.map(line)].join('\n')
}
