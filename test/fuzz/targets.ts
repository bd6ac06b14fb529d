/** The fuzzing targets: valid inputs, words that matter to their reader, and what must hold for the result. */

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parsePipeline } from '../../src/plan/pipeline.ts'
import { durationMs } from '../../src/plan/pipeline-fields.ts'
import { fromText, parseOrganizations } from '../../src/plan/organizations.ts'
import {
  formatJson,
  isOfThisFormat,
  objectsOf,
  parseManifest,
  parsePointer,
  pointerTo,
  viewsSql,
} from '../../src/publish/manifest.ts'
import { packageRoot } from '../../src/support/assets.ts'
import { sha256Hex } from '../../src/support/hash.ts'
import { stableJson } from '../../src/support/json.ts'
import { compareTitles } from '../../src/titles/compare.ts'
import { LEVELS } from '../../src/titles/taxonomy.ts'
import { understandTitle } from '../../src/titles/understand.ts'
import { aFile, aManifest, aTable } from '../publish/manifests.ts'
import { openAnswers } from './answers.ts'
import { openJournals } from './journals.ts'
import { claim, unlessRefused, type Target } from './target.ts'

const linesOf = (path: string, lines: number) =>
  readFileSync(join(packageRoot, path), 'utf8').split('\n').slice(0, lines)
const buffers = (texts: readonly string[]) => texts.map((text) => Buffer.from(text))

function manifests(): Target {
  const sha256 = sha256Hex('a file')
  const [first, second] = ['01JD0000000000000000000001', '01JD0000000000000000000002'] as const
  const file = aFile({
    key: `tables/joiners/joined_year=2024/${first}/${sha256}.parquet`,
    partition: 'joined_year=2024',
    rows: 5,
    sha256,
    min: { id: 'a', note: "O'Brien" },
    max: { id: 'z', note: 'é' },
    nulls: { note: 2 },
  })
  const table = aTable({
    name: 'joiners',
    files: [file],
    partition_by: { column: 'joined_at', unit: 'year' },
    partitions: [{ name: 'joined_year=2024', rows: 3, fingerprint: '12' }],
  })
  const whole = aManifest({ tables: [table, aTable({ files: [aFile()] })] })
  const previous = { snapshot_id: first, manifest_sha256: sha256 }
  const next = aManifest({
    snapshot_id: second,
    sequence: 2,
    previous,
    tables: [aTable({ files: [aFile()] })],
  })
  const { versions: _, ...older } = whole
  const old = { ...older, format_version: 4, tables: [{ ...table, deletion_vector: null }] }
  const texts = [formatJson(whole), formatJson(next), stableJson(old)]
  const pointers = texts.map((text, nth) =>
    formatJson(pointerTo([first, second, first][nth] ?? '', text)),
  )
  const symbols = (sql: string) =>
    sql
      .replaceAll(/^--.*$/gm, '')
      .replaceAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"/g, ' ')
      .match(/\w+|[^\w\s]/g) ?? []
  const usual = new Set(symbols(viewsSql(whole)))
  return {
    name: 'manifests',
    share: 0.25,
    corpus: buffers([...texts, ...pointers]),
    dictionary: [
      [
        '"rows": ',
        '"format_version": 4',
        '"files": [',
        '"key": "../../etc/x"',
        '"min": {"__proto__": "1"}',
      ],
      ['tables/', '..', `'); drop table x; --`, '"name": "a b"', 'null'],
    ].flat(),
    check(input) {
      const pointer = unlessRefused(() => parsePointer(input, 'latest.json'))
      const place = `snapshots/${pointer?.snapshot_id}/manifest.json`
      claim(pointer === null || pointer.manifest_key === place, 'a pointer to another place')
      const manifest = unlessRefused(() => parseManifest(input, 'manifest.json'))
      if (manifest === null) return
      for (const one of manifest.tables) {
        const isOutside = ({ key: path }: { key: string }) =>
          !path.startsWith(`tables/${one.name}/`) || /\/\.\.?\/|\/\/|[^\w./=-]/.test(path)
        const outside = objectsOf({ tables: [one] }).find(isOutside)
        claim(outside === undefined, `it names ${outside?.key}`)
      }
      if (!isOfThisFormat(manifest)) return
      const odd = symbols(viewsSql(manifest)).find((one) => !usual.has(one))
      claim(odd === undefined, `its views say ${odd}`)
      const again = parseManifest(Buffer.from(formatJson(manifest)), 'manifest.json')
      claim(stableJson(again) === stableJson(manifest), 'written and read, it is another one')
    },
  }
}

function pipelines(): Target {
  const files = readdirSync(join(packageRoot, 'pipelines')).map((name) => join('pipelines', name))
  const full = [
    'name: full\nschedule: "15 2 * * *"\norganizations: a.csv\nevent_types: [joined, left]',
    'window: since-last\ninitial_window: all\noverlap_hours: 6.5\nretention_days: 730',
    'limits: {credits: 5000, credits_per_month: 9000, requests_per_second: 5, max_wait: 15m}',
    'snapshot:\n  to: s3://bucket/prefix\n  keep: {daily: 7, monthly: 12}\n  s3: {sse: AES256}\n',
  ].join('\n')
  return {
    name: 'pipelines',
    share: 0.1,
    corpus: buffers([full, ...files.map((path) => linesOf(path, 200).join('\n'))]),
    dictionary: [
      [
        '&a [*a, *a]',
        '*a',
        '? ',
        '!!binary ',
        '!!set {',
        '|\n ',
        '>-\n',
        '<<: *a\n',
        '---\n',
        '...\n',
      ],
      [
        '.inf',
        '.nan',
        '0o17',
        '1e3',
        '~',
        '@',
        '%YAML 1.1\n',
        'window: 365\n',
        'keep: 0',
        '"* * * * *"',
      ],
    ].flat(),
    check(input) {
      const spec = unlessRefused(() => parsePipeline(input.toString(), 'test.yaml'))
      if (spec === null) return
      const { limits, name } = spec
      const window = spec.kind === 'collect' ? 'all' : spec.window
      claim(/^[a-z0-9-]+$/.test(name), `its name is ${name}`)
      claim((limits.credits ?? 10) >= 10 && Number.isFinite(durationMs(limits.max_wait)), 'limits')
      claim((limits.requests_per_second ?? 1) > 0, 'it asks at no pace')
      claim(typeof window === 'string' || (window >= 1 && window <= 365), `window ${window}`)
      const text = JSON.stringify(spec)
      // Expanded aliases and quotes may exceed the size limit of a file.
      if (text.length > 16_384) return
      const again = parsePipeline(text, 'test.yaml')
      claim(stableJson(again) === stableJson(spec), 'written and read, it is another one')
    },
  }
}

function lists(): Target {
  const csv = linesOf('config/organizations.csv', 12).join('\n')
  const text = 'org_1a\nhttps://example.com/company/acme/\nacme-labs\r\n\n# note\n"org_2b"\n'
  const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')])
  const columns = 'name;organization_id;company_url\n"A; B";org_1;\nC;;https://x.example/c?d=1#e\n'
  return {
    name: 'lists',
    share: 0.25,
    corpus: [...buffers([csv, text, columns, '\ufefforganization_id\norg_1\norg_1\n']), utf16],
    dictionary: [
      [
        'organization_id',
        'company_url',
        '""',
        '","',
        '";"',
        '\n/\n',
        '/',
        '#',
        '\t',
        '\r',
        'org_9',
      ],
      ['=cmd()', '+1', '@x', '\u00a0', '%2f', 'https://', 'Parquet', 'PAR1', '\n"'],
    ].flat(),
    check(input) {
      const list = unlessRefused(() => parseOrganizations(input, 'list.csv'))
      if (list === null) return
      const { organizations } = list
      // A slug that another line has as an id is another name.
      const names = new Set(organizations.map(({ by, value }) => `${by} ${value}`))
      claim(names.size > 0 && names.size === organizations.length, 'empty, or one twice')
      const values = organizations.map(({ value }) => value)
      for (const value of values) {
        const isPlain = value.length <= 500 && /^[^\p{Cc}\s,\ufffd]+$/u.test(value)
        claim(isPlain && fromText(value) !== null, `it names ${JSON.stringify(value)}`)
      }
      const cells = organizations.map(({ by, value }) => {
        const cell = `"${value.replaceAll('"', '""')}"`
        return by === 'id' ? `${cell},` : `,${cell}`
      })
      const written = Buffer.from(`organization_id,company_url\n${cells.join('\n')}\n`)
      const again = parseOrganizations(written, 'list.csv').organizations
      claim(stableJson(again) === stableJson(organizations), 'written and read, it is another one')
    },
  }
}

function titles(): Target {
  // Two titles, one per line, as in the pairs of labelled changes.
  const pairs = linesOf('test/titles/labelled/pairs.dev.csv', 120)
    .slice(1)
    .map((line) => line.replaceAll('"', '').split(',').slice(0, 3).join('\n'))
  const known = new Set<string>([...LEVELS, 'unknown'])
  return {
    name: 'titles',
    share: 0.2,
    corpus: buffers(pairs),
    dictionary: [
      [
        'Senior ',
        'Deputy ',
        'of ',
        '& ',
        '/in',
        '(m/w/d)',
        'III',
        ' to the ',
        'Former ',
        'c++',
        '.net',
      ],
      [
        'she/her',
        'Leiterin',
        '–',
        '@',
        'Vice President',
        '\n',
        'A.B.C.',
        'R&D',
        "'s ",
        'Ärztin',
        '董事长',
      ],
    ].flat(),
    check(input) {
      const [previous = '', current = ''] = input.toString('utf8').split('\n')
      for (const title of [previous, current]) {
        const { level, rank, confidence } = understandTitle(title)
        claim(known.has(level), `level ${level}`)
        claim(rank === null || (rank >= 0 && rank <= 99), `rank ${rank}`)
        claim(confidence >= 0 && confidence <= 1, `confidence ${confidence}`)
        const twice = understandTitle(title)
        claim(stableJson(twice) === stableJson(understandTitle(title)), 'another answer later')
        const { label } = compareTitles(title, title)
        claim(label === 'retitle' || label === 'unclassified', `to the same title a ${label}`)
      }
      const there = compareTitles(previous, current).label
      const back = compareTitles(current, previous).label
      claim(there !== 'promotion' || back !== 'promotion', 'a promotion there and back')
      claim((there === 'retitle') === (back === 'retitle'), `there ${there}, back ${back}`)
    },
  }
}

/** All targets; those with a server or a folder are closed at the end. */
export async function openTargets() {
  const answers = await openAnswers()
  const journals = await openJournals()
  const all = [answers.target, ...journals.targets, manifests(), pipelines(), lists(), titles()]
  return {
    of(name: string): Target {
      const target = all.find((one) => one.name === name)
      if (target === undefined) throw new Error(`no target ${name}`)
      return target
    },
    async close(): Promise<void> {
      journals.close()
      await answers.close()
    },
  }
}
