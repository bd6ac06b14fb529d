/**
 * The lists behind the reading of titles. `UPDATE=1 npx vitest run test/titles/taxonomy.test.ts` rewrites the JSON
 * Schema.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format } from 'prettier'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { packageRoot } from '../../src/support/assets.ts'
import { ladderReader, ladders, laddersSchema } from '../../src/titles/ladders.ts'
import { madeNow, shippedTaxonomy } from '../../src/titles/kept.ts'
import { parseYaml } from '../../src/titles/yaml-file.ts'
import { LEVELS, wordList } from '../../src/titles/taxonomy.ts'
import { splitTitle } from '../../src/titles/words.ts'

const folder = join(packageRoot, 'config', 'titles')

describe('the taxonomy of titles', () => {
  it('gives the 9 levels ranks that neither overlap nor leave a gap', () => {
    const { levels } = parse(readFileSync(join(folder, 'levels.yaml'), 'utf8')) as {
      levels: Record<string, { lowest: number; highest: number }>
    }
    expect(Object.keys(levels)).toEqual(LEVELS)
    expect(levels['intern']?.lowest).toBe(0)
    expect(levels['cxo']?.highest).toBe(99)
    for (const [index, level] of LEVELS.entries()) {
      const next = LEVELS[index + 1]
      if (next !== undefined) expect(levels[next]?.lowest).toBe((levels[level]?.highest ?? 0) + 1)
    }
  })
})

describe('a file of the taxonomy', () => {
  it('is read by commands in its built form, under a hash of all files; src gives the same', async () => {
    await import('../../src/titles/compare.ts')
    const made = madeNow()
    expect(made.size).toBeGreaterThan(30)
    for (const [name, text] of made) {
      expect(name).toMatch(new RegExp(`-${shippedTaxonomy}\\.json$`))
      const kept = readFileSync(join(packageRoot, 'dist', 'word-lists', name), 'utf8')
      expect([name, kept === text]).toEqual([name, true])
    }
  })

  const schema = z.strictObject({ words: wordList, rank: z.int().optional() })

  it.each([
    ['words: one,, two', 'words.yaml:1: words: there is an empty word between two commas'],
    ['words: one\nrank: high', 'words.yaml:2: rank: '],
    ['words: one\n\nwrods: two', 'words.yaml:3: wrods: unknown key'],
    ['', 'words.yaml:1: words: '],
    ['words: [one', 'words.yaml: not valid YAML'],
  ])('is refused with file, line and key: %j', (text, message) => {
    expect(() => parseYaml(text, 'words.yaml', schema)).toThrow(message)
  })
})

const BANK = `
ladders:
  - name: bank
    organizations: [org_1, org_2]
    rungs:
      - { title: Senior Vice President, level: director, rank: 70 }
      - { title: VP, level: lead, rank: 40, management: false }
      - { title: associé, level: mid }
`

describe('ladders', () => {
  it('reads 3 rungs for 2 organisations; the first rung with words in the title decides', () => {
    const bank = parseYaml(BANK, 'ladders.yaml', laddersSchema).ladders
    const read = ladderReader(bank)
    const reading = (title: string) => read('bank', splitTitle(title))
    expect(bank[0]?.organizations).toEqual(['org_1', 'org_2'])
    expect(reading('Vice President, Rates')).toEqual({
      level: 'lead',
      rank: 40,
      management: false,
      rule: 'ladder:bank',
    })
    expect(reading('SVP')).toMatchObject({ level: 'director', rank: 70, management: true })
    expect(reading('ASSOCIE')).toMatchObject({ level: 'mid', management: false })
    expect(reading('Presidential Vice')).toBeNull()
    expect(read('standard', splitTitle('Vice President'))).toBeNull()
  })

  const RUNGS = 'rungs: [{ title: x, level: vp }]'
  it.each([
    ['name: a, rungs: [{ title: vp, level: boss }]', '2: ladders.0.rungs.0.level'],
    ['name: a, rungs: [{ title: vp, level: vp, rank: 120 }]', '2: ladders.0.rungs.0.rank'],
    ['name: a, rungs: [{ title: "—", level: vp }]', '2: ladders.0.rungs.0.title: there is no word'],
    [`name: standard, ${RUNGS}`, '2: ladders.0.name: the name standard is taken'],
    [`name: a, ${RUNGS} }\n- { name: a, ${RUNGS}`, '3: ladders.1.name: there are two ladders of'],
    [
      `name: a, organizations: [o], ${RUNGS} }\n- { name: b, organizations: [o], ${RUNGS}`,
      '3: ladders.1.organizations: o has a ladder already',
    ],
  ])('refuses %j, naming line and key', (ladder, message) => {
    const text = `ladders:\n- { ${ladder} }`
    expect(() => parseYaml(text, 'ladders.yaml', laddersSchema)).toThrow(`ladders.yaml:${message}`)
  })

  it('ships with none: a title means the same at every organisation by default', () => {
    expect(ladders()).toEqual([])
  })

  it('has a JSON Schema for editors that describes every key', async () => {
    const schema = {
      title: 'Ladders of titles of single organisations',
      ...z.toJSONSchema(laddersSchema, { io: 'input' }),
    }
    const text = await format(JSON.stringify(schema), { parser: 'json', printWidth: 100 })
    const path = join(packageRoot, 'config', 'ladders.schema.json')
    if (process.env['UPDATE'] === '1') writeFileSync(path, text)
    expect(readFileSync(path, 'utf8')).toBe(text)
    expect(text.match(/"description"/g)).toHaveLength(8)
  })
})
