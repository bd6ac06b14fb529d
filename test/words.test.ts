/** Holds names, log events, tables and documents to the field's own words. */

import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { packageRoot } from '../src/support/assets.ts'
import { type Prose, proseOf, testProseOf } from './helpers/prose.ts'

/** What is not written, and what is written instead. Only words that ordinary code does not have. */
const REPLACED: readonly (readonly [RegExp, string])[] = [
  [/\btonight\b|\bnight[- ]build/i, 'incremental build, TableDelta'],
  [/\banew\b|made whole|wholeBecause/i, 'again, full refresh, fullRefreshReason'],
  [/\btouched[ _]?(?:people|groups)/i, 'changed keys'],
  [/^-- (?:scope|balanced):/m, '-- incremental_by:, a reconciliation check'],
  [/\bfilled[ _-]?tables\b/i, 'computed models'],
  [/\bsieve/i, 'prefilter'],
  [/\bseams?\b|\bstrays?\b|\bloose\b/i, 'page drift, unverified boundary, shifted events'],
  [/\bWish\b|\bSetback\b|\bmayLeave\b/, 'RetryState, FailedAttempt, canDispatch'],
  [/\bBell\b|createBell|\bPurse\b|place in the line/, 'condition, budget bucket, queue position'],
  [/\bisProbe\b|\bisTest\b/, 'isHalfOpen, isFreeProbe'],
  [/\bset aside\b|\bsetAside\b|set_aside|\bin step\b/i, 'quarantined, synchronised'],
  [/\bSlice[A-Z]|\bslice_|\bslices\b/, 'batch'],
  [/\bpitted\b|\bunborn\b|distrust/i, 'files with deletes, tempPath, unverified'],
  [/inWordsOf|\bdearest\b|\bof ?nobody\b/i, 'toSnakeCase, mostExpensive, unattributed'],
  [/tangled_events|forgotten people/i, 'ambiguous_events, erased people'],
  [/\bbesides\b|\bwhoever\b|\bsomebody else|no longer so\b|\bdear\b/i, 'subject, verb, object'],
]

/** Habits that make a sentence hard to read, and how English says it. Held to pages, comments and messages. */
const HABITS: readonly (readonly [RegExp, string])[] = [
  [/, too\b/i, 'also'],
  [/\bby (?:itself|themselves)\b/i, 'alone, on its own'],
  [/\b(?:no|some|any|every)body\b/i, 'no one, a person, everyone, or the subject by its name'],
  [/\bof (?:which|whom|whose)\b/i, 'a sentence of its own'],
  [/\btold\b/i, 'reported, sent, said'],
  [/\bbeside\b/i, 'next to, in addition to'],
  [/[a-z,] and not\b/i, 'instead of, rather than, but not'],
  [/(?<!there )\b(?:is|are|was|were) no (?!longer\b|one\b)\w/i, 'is not a'],
  [/\bmend(?:s|ed|ing)?\b/i, 'fix, repair'],
  [/\bsaid (?:when|what) to\b/i, 'asked us to'],
  [/\bfor (?:ever|want of)\b/i, 'forever, for lack of'],
  [/\btaken? up again\b|\bgives? way\b|\bgave way\b/i, 'resumed, yields'],
  [/\bwithout a word\b|\bin silence\b/i, 'silently'],
  [/(?:^|[.;:] )What (?:was|were|is|has|had|does|came|stands|lies|goes|cannot)\b[^?]*$/, 'a noun'],
  [
    /(?:^|[.;:] )(?:Of|To|From) (?:a|an|each|such|those|these) [^,.]*\b(?:is|are|was) \w+ed\b/,
    'subject first',
  ],
  [/\b(?:of|in|for|after|with|most|once) so many\b/i, 'this many'],
  [/\bends? with \d/i, 'exits with'],
  [/\b(?:goes|went|gone) on\b/i, 'continues'],
  [/\btak(?:e|es|en) (?:out|off|away)\b/i, 'removed'],
  [/\ban? \w+ of (?:its|their) own\b/i, 'its own folder'],
  [/\ball the same\b/i, 'still'],
]

/** Folders whose comments and messages are free of these habits. */
const PROSE = ['src', 'spark']

/** Text that belongs to others, or to SQL. */
const NOT_PROSE: readonly RegExp[] = [
  // A file of the data directory, and its module.
  /^(?:\.\.\/observe\/)?told(?:\.ts)?$/,
  // A condition of a statement.
  /\bwhere\b.*\band not\b/,
  // A parameter.
  /@param told\b/,
]

/** Generated in part from the comments of sql/schema, which never change. */
const NOT_YET = ['docs/tables.md']

const PLACES = ['src', 'sql', 'test', 'docs', 'config', 'pipelines', '.ci']
const FILES = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'package.json']
const TEXT = /\.(?:ts|mjs|sql|md|ya?ml|json|sh|py)$/
// Titles and names as people write them.
const DATA =
  /labelled|\bdata\/|models\/.*\.json$|config\/titles\/.*\.ya?ml$|simulator\/.*\.(?:json|ya?ml)$/
const THIS = 'test/words.test.ts'

type Text = { readonly at: string; readonly text: string }

function filesBelow(path: string): string[] {
  return readdirSync(join(packageRoot, path)).flatMap((name) => {
    const below = `${path}/${name}`
    return statSync(join(packageRoot, below)).isDirectory() ? filesBelow(below) : [below]
  })
}

const files = [...PLACES.flatMap(filesBelow), ...FILES].filter(
  (path) => TEXT.test(path) && !DATA.test(path) && path !== THIS,
)

const pages = [
  ...FILES.filter((path) => path.endsWith('.md')),
  ...['docs', 'deploy'].flatMap(filesBelow).filter((path) => path.endsWith('.md')),
].filter((path) => !NOT_YET.includes(path))

const queries = files.filter((path) => path.endsWith('.sql') && /^sql\/(?!schema\/)/.test(path))

it.each(HABITS)('no page and no comment of a query says %s, but %s', (pattern) => {
  expect([
    ...pages.flatMap((path) => linesWith(pattern, path, withoutCode)),
    ...queries.flatMap((path) => linesWith(pattern, path, onlyComments)),
  ]).toEqual([])
})

it('comments of SQL are read without Spark functions and parameters', () => {
  expect(queries.length).toBeGreaterThan(200)
  expect(onlyComments('select 1 -- of it\n  -- spark: f(told)\n--  note: not $told')).toBe(
    'of it\n\nnote: not ',
  )
})

function linesWith(pattern: RegExp, path: string, prose: (text: string) => string): string[] {
  return prose(readFileSync(join(packageRoot, path), 'utf8'))
    .split('\n')
    .flatMap((line, index) =>
      pattern.test(line) ? [`${path}:${index + 1}: ${line.trim().slice(0, 100)}`] : [],
    )
}

/** The comments of a query, line for line, without the code in them: Spark functions and parameters. */
function onlyComments(sql: string): string {
  return sql
    .split('\n')
    .map((line) => /(?:^|\s)-- *(?! *spark:)(.*)$/.exec(line)?.[1] ?? '')
    .map((comment) => comment.replaceAll(/\$\w+/g, ''))
    .join('\n')
}

const examples = ['deploy', 'pipelines']
  .flatMap(filesBelow)
  .filter((path) => !/\.(?:md|json)$/.test(path))

it.each(HABITS)('no comment of an example says %s, but %s', (pattern) => {
  expect(examples.length).toBeGreaterThan(10)
  expect(examples.flatMap((path) => linesWith(pattern, path, hashComments))).toEqual([])
})

/** The comments of a YAML file and the like, line for line. */
function hashComments(text: string): string {
  return text
    .split('\n')
    .map((line) => /(?:^|\s)# *(.*)$/.exec(line)?.[1] ?? '')
    .join('\n')
}

const sources = PROSE.flatMap(filesBelow).filter((path) => /\.(?:ts|py)$/.test(path))
const prose = sources.flatMap((path) => textsOf(path, (source) => proseOf(path, source)))
const tests = files.filter((path) => /^test\/.*\.(?:ts|mjs)$/.test(path))
const testProse = tests.flatMap((path) => textsOf(path, testProseOf))

function textsOf(path: string, read: (source: string) => Prose[]): Text[] {
  return read(readFileSync(join(packageRoot, path), 'utf8'))
    .filter(({ text }) => !NOT_PROSE.some((pattern) => pattern.test(text)))
    .map(({ line, text }) => ({ at: `${path}:${line}`, text }))
}

function found(pattern: RegExp, texts: readonly Text[]): string[] {
  return texts.flatMap(({ at, text }) =>
    pattern.test(text) ? [`${at}: ${text.slice(0, 200)}`] : [],
  )
}

it('finds the comments and messages of the sources', () => {
  const source = [
    '/** Reads `a, too` whole. */',
    "const one = 'it was' // beside",
    'const two = /told/.test(`the ${of ? 1 : 2} was told`)',
  ]
  expect(proseOf('a.ts', source.join('\n'))).toEqual([
    { line: 1, text: 'Reads `` whole.' },
    { line: 2, text: 'it was' },
    { line: 2, text: 'beside' },
    { line: 3, text: 'the … was told' },
  ])
  expect(proseOf('a.py', '"""Says\n  it, too."""\nx = "a b"  # told\n')).toEqual([
    { line: 1, text: 'Says it, too.' },
    { line: 3, text: 'a b' },
    { line: 3, text: 'told' },
  ])
  expect(sources.length).toBeGreaterThan(150)
})

it('finds the comments and names of tests', () => {
  const source = [
    "describe('a word', () => {",
    "  it.each([['told'], ['b']])('was %s', (one) => {",
    "    // Not 'told'.",
    "    expect(one).toBe('told')",
  ]
  expect(testProseOf(source.join('\n')).map(({ text }) => text)).toEqual([
    "Not 'told'.",
    'a word',
    'was %s',
  ])
  expect(tests.length).toBeGreaterThan(300)
})

it.each(HABITS)('no comment, message or name of a test says %s, but %s', (pattern) => {
  expect(found(pattern, [...prose, ...testProse])).toEqual([])
})

/** The prose of a page, line for line: programs print words of their own. */
function withoutCode(markdown: string): string {
  return markdown
    .replaceAll(/^([ ]*)```[^\n]*\n[\s\S]*?^\1```$/gm, (block) => block.replaceAll(/[^\n]/g, ''))
    .replaceAll(/`[^`\n]+`/g, '``')
}

it.each(REPLACED)('nothing is called %s, but %s', (pattern) => {
  expect(files.flatMap((path) => linesWith(pattern, path, (text) => text))).toEqual([])
})
