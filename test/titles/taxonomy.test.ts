import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { packageRoot } from '../../src/support/assets.ts'
import { LEVELS, taxonomyVersion } from '../../src/titles/taxonomy.ts'
import { wordList } from '../../src/titles/taxonomy.ts'
import { parseYaml } from '../../src/titles/yaml-file.ts'

const folder = join(packageRoot, 'config', 'titles')

describe('the taxonomy of titles', () => {
  it('has a version of 12 hex digits', () => {
    expect(taxonomyVersion).toMatch(/^[0-9a-f]{12}$/)
  })

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

  it('says in the first line of each file what it is about', () => {
    const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
    expect(files.length).toBeGreaterThanOrEqual(5)
    for (const file of files)
      expect(readFileSync(join(folder, file), 'utf8'), file).toMatch(/^# \S/)
  })
})

describe('a file of the taxonomy', () => {
  const schema = z.strictObject({ words: wordList, rank: z.int().optional() })

  it('lists words over several lines, separated by commas', () => {
    expect(parseYaml('words: >\n  one, two\n  words,\n  three\n', 'words.yaml', schema)).toEqual({
      words: ['one', 'two words', 'three'],
    })
  })

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
