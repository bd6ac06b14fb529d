/**
 * How well titles are understood, measured on labelled titles that no rule was tried on (test/titles/labelled says where
 * they come from). The tables stand in config/titles/README.md and must be what is measured:
 * `UPDATE=1 npx vitest run test/titles/accuracy.test.ts` writes them.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format } from 'prettier'
import { describe, expect, it } from 'vitest'
import { packageRoot } from '../../src/support/assets.ts'
import { FUNCTIONS, LEVELS } from '../../src/titles/taxonomy.ts'
import {
  accuracy,
  answersForPairs,
  answersForTitles,
  confusionTable,
  labelledPairs,
  labelledTitles,
  markdownTable,
  quality,
  type Part,
} from './accuracy.ts'

const DOCUMENT = join(packageRoot, 'config', 'titles', 'README.md')
const LABELS = ['promotion', 'demotion', 'lateral', 'retitle', 'unclassified']
const percent = (fraction: number) => `${(100 * fraction).toFixed(1)} %`

const titles = { dev: labelledTitles('dev'), test: labelledTitles('test') }
const pairs = { dev: labelledPairs('dev'), test: labelledPairs('test') }

describe('labelled titles that no rule was tried on', () => {
  const answers = answersForTitles(titles.test)

  it.each([
    ['level', 92],
    ['management', 95],
    ['function', 88],
  ] as const)('%s is right for at least %s %', (what, least) => {
    expect(titles.test.length).toBeGreaterThan(300)
    expect(100 * accuracy(answers[what])).toBeGreaterThanOrEqual(least)
  })
})

describe('labelled changes of title that no rule was tried on', () => {
  const answers = answersForPairs(pairs.test)

  it('a promotion is one with precision of at least 97 % and recall of at least 92 %', () => {
    expect(pairs.test.length).toBeGreaterThan(300)
    const { precision, recall } = quality(answers, 'promotion')
    expect(100 * precision).toBeGreaterThanOrEqual(97)
    expect(100 * recall).toBeGreaterThanOrEqual(92)
  })

  it.each(['retitle', 'lateral'])('%s has an F1 of at least 90 %%', (label) => {
    expect(100 * quality(answers, label).f1).toBeGreaterThanOrEqual(90)
  })
})

describe('labelled titles', () => {
  it('are in one part only', () => {
    const keys = (part: Part) => [
      ...titles[part].map(({ title }) => title),
      ...pairs[part].map(({ previous, current }) => `${previous} → ${current}`),
    ]
    const dev = new Set(keys('dev'))
    expect(keys('test').filter((key) => dev.has(key))).toEqual([])
  })
})

describe('config/titles/README.md', () => {
  it('shows what is measured', async () => {
    const before = readFileSync(DOCUMENT, 'utf8')
    const after = await format(
      before.replace(
        /(<!-- measured -->\n)[\s\S]*?(<!-- end of measured -->)/,
        (_, begin: string, end: string) => `${begin}\n${measured()}\n\n${end}`,
      ),
      { parser: 'markdown' },
    )
    expect(after).toContain('| level right')
    if (process.env['UPDATE'] === '1') writeFileSync(DOCUMENT, after)
    else expect(before).toBe(after)
  })
})

function measured(): string {
  const test = answersForTitles(titles.test)
  const isReal = ({ source }: { readonly source: string }) => source !== 'written'
  // Made-up titles are tidier than those that people write.
  const columns = [
    { titles: titles.test, pairs: pairs.test },
    { titles: titles.test.filter(isReal), pairs: pairs.test.filter(isReal) },
    { titles: titles.dev, pairs: pairs.dev },
  ]
  const row = (name: string, cell: (column: (typeof columns)[number]) => string) => [
    name,
    ...columns.map(cell),
  ]
  return [
    markdownTable(
      ['', 'no rule tried on them', 'of these found, not made up', 'rules tried on them'],
      [
        row('titles', (column) => String(column.titles.length)),
        ...(['level', 'management', 'function'] as const).map((what) =>
          row(`${what} right`, (column) =>
            percent(accuracy(answersForTitles(column.titles)[what])),
          ),
        ),
        row('changes of title', (column) => String(column.pairs.length)),
        ...LABELS.slice(0, -1).map((label) =>
          row(`${label}: precision / recall / F1`, (column) => {
            const { precision, recall, f1 } = quality(answersForPairs(column.pairs), label)
            return [precision, recall, f1].map(percent).join(' / ')
          }),
        ),
      ],
    ),
    'Levels of the titles that no rule was tried on:',
    confusionTable(test.level, [...LEVELS, 'unknown']),
    'Their functions:',
    confusionTable(test.function, [...FUNCTIONS, 'unknown']),
    'Changes of title that no rule was tried on:',
    confusionTable(answersForPairs(pairs.test), LABELS),
  ].join('\n\n')
}
