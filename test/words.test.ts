/** Holds names, log events, tables and documents to the field's own words. */

import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'vite'
import { expect, it } from 'vitest'
import { packageRoot } from '../src/support/assets.ts'

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

/** Habits that make a sentence hard to read, and how English says it. Held to pages, and to comments and texts of PROSE_OF. */
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
]

/** Folders and files whose comments and texts are held to HABITS. */
const PROSE_OF = [
  'config/init',
  'src/cli',
  'src/config.ts',
  'src/inbox',
  'src/observe',
  'src/report',
  'src/run',
  'src/simulator',
  'src/support',
]

/** Rewritten later, or generated. */
const NOT_YET = ['docs/tables.md']

const PLACES = ['src', 'sql', 'test', 'docs', 'config', 'pipelines', '.ci']
const FILES = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'package.json']
const TEXT = /\.(?:ts|mjs|sql|md|ya?ml|json|sh|py)$/
// Titles and names as people write them.
const DATA =
  /labelled|\bdata\/|models\/.*\.json$|config\/titles\/.*\.ya?ml$|simulator\/.*\.(?:json|ya?ml)$/
const THIS = 'test/words.test.ts'

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

it.each(HABITS)('no page says %s, but %s', (pattern) => {
  const found = pages.flatMap((path) =>
    withoutCode(readFileSync(join(packageRoot, path), 'utf8'))
      .split('\n')
      .flatMap((line, index) =>
        pattern.test(line) ? [`${path}:${index + 1}: ${line.trim().slice(0, 100)}`] : [],
      ),
  )
  expect(found).toEqual([])
})

const sources = PROSE_OF.flatMap((path) =>
  statSync(join(packageRoot, path)).isDirectory() ? filesBelow(path) : [path],
).flatMap((path) => proseOf(path, readFileSync(join(packageRoot, path), 'utf8')))

it.each(HABITS)('no comment and no message says %s, but %s', (pattern) => {
  const found = sources.flatMap(({ place, text }) =>
    pattern.test(text) ? [`${place}: ${text.slice(0, 100)}`] : [],
  )
  expect(found).toEqual([])
})

it('the prose of a file is its comments and its texts of several words, without code', () => {
  const file = [
    "import { told } from './told.ts'",
    '/**',
    ' * Sends it. Nobody',
    ' * waits: `told by`.',
    ' */',
    "const told = ['told', `is ${told} of`, 'was told it']",
  ].join('\n')
  expect(proseOf('a.ts', file).map(({ text }) => text)).toEqual([
    'Sends it. Nobody waits: ``.',
    'is … of',
    'was told it',
  ])
})

/** The comments of a file and its texts of more than one word, each in one line, SQL and code between backquotes left out. */
function proseOf(path: string, file: string): { place: string; text: string }[] {
  const found: { at: number; text: string }[] = []
  if (path.endsWith('.ts')) {
    const { program, comments } = parseSync(path, file)
    for (const { start, value } of comments) found.push({ at: start, text: value })
    JSON.stringify(program, (_, node: unknown) => {
      const { type, start, end, value } = (node ?? {}) as Record<string, unknown>
      if (type === 'Literal' && typeof value === 'string')
        found.push({ at: Number(start), text: value })
      if (type === 'TemplateLiteral') {
        const text = file.slice(Number(start) + 1, Number(end) - 1)
        found.push({ at: Number(start), text: text.replaceAll(/\$\{[^{}]*\}/g, '…') })
      }
      return typeof node === 'bigint' ? String(node) : node
    })
  } else {
    for (const { 0: text, index } of file.matchAll(/[^\n]+/g)) found.push({ at: index, text })
  }
  return found
    .map(({ at, text }) => ({
      place: `${path}:${file.slice(0, at).split('\n').length}`,
      text: text
        .replaceAll(/\s*\n\s*(?:\*(?!\/))? ?/g, ' ')
        .replace(/^\*+/, '')
        .replaceAll(/`[^`]*`/g, '``')
        .trim(),
    }))
    .filter(({ text }) => text.includes(' ') && !text.startsWith('select '))
}

/** The prose of a page, line for line: programs print words of their own. */
function withoutCode(markdown: string): string {
  return markdown
    .replaceAll(/^([ ]*)```[^\n]*\n[\s\S]*?^\1```$/gm, (block) => block.replaceAll(/[^\n]/g, ''))
    .replaceAll(/`[^`\n]+`/g, '``')
}

it.each(REPLACED)('nothing is called %s, but %s', (pattern) => {
  const found = files.flatMap((path) =>
    readFileSync(join(packageRoot, path), 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        pattern.test(line) ? [`${path}:${index + 1}: ${line.trim().slice(0, 100)}`] : [],
      ),
  )
  expect(found).toEqual([])
})
