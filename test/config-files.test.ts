/** The files below config/ and pipelines/ agree with the program. `UPDATE=1 npx vitest run test/config-files.test.ts` rewrites them. */

import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { format } from 'prettier'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { worldAround } from '../src/cli/simulator-commands.ts'
import { parseOrganizations } from '../src/plan/organizations.ts'
import { collectSchema, parsePipeline, pipelineSchema } from '../src/plan/pipeline.ts'
import { writeOrganizationsFile } from '../src/simulator/events.ts'
import { packageRoot } from '../src/support/assets.ts'

const SCHEMA = 'config/pipeline.schema.json'
const LIST = 'config/organizations.csv'
const UPDATE = process.env['UPDATE'] === '1'

describe('config/pipeline.schema.json', () => {
  it('equals the schema in src/plan/pipeline.ts', async () => {
    const schema = {
      title: 'A Jobtide pipeline file',
      anyOf: [pipelineSchema, collectSchema].map((one) => z.toJSONSchema(one, { io: 'input' })),
    }
    const text = await format(JSON.stringify(schema), { parser: 'json', printWidth: 100 })
    expectFile(SCHEMA, text)
  })

  it('describes every key, so that an editor can', () => {
    const { anyOf } = JSON.parse(read(SCHEMA)) as { anyOf: JsonSchema[] }
    const properties = Object.assign({}, ...anyOf.map((one) => one.properties)) as Record<
      string,
      JsonSchema
    >
    const limits = properties['limits'] as JsonSchema
    const snapshot = properties['snapshot'] as JsonSchema
    const { limits: _group, ...keys } = {
      ...properties,
      ...limits.properties,
      ...snapshot.properties,
    }
    expect(Object.keys(keys).length).toBeGreaterThan(12)
    expect(Object.keys(keys).filter((key) => !keys[key]?.description)).toEqual([])
  })
})

describe('config/organizations.csv', () => {
  it('is the list of the world that `jobtide simulate` serves', () => {
    const folder = mkdtempSync(join(tmpdir(), 'jobtide-list-'))
    try {
      const file = join(folder, 'organizations.csv')
      writeOrganizationsFile(file, defaultWorld('2026-11-20').organizations)
      expectFile(LIST, readFileSync(file, 'utf8'))
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('names the same organisations whatever the date', () => {
    const ids = (day: string) =>
      defaultWorld(day).organizations.map(({ organization_id: id }) => id)
    expect(ids('2031-02-28')).toEqual(ids('2026-11-20'))
  })
})

describe('pipelines', () => {
  const files = readdirSync(join(packageRoot, 'pipelines')).map((name) => `pipelines/${name}`)

  it.each(files)('%s is valid, has its own name and a list', (file) => {
    const pipeline = parsePipeline(read(file), file)
    expect(`${pipeline.name}.yaml`).toBe(basename(file))
    if (pipeline.kind === 'collect') return
    const list = resolve(packageRoot, dirname(file), pipeline.organizations)
    expect(parseOrganizations(readFileSync(list), list).duplicates).toBe(0)
    expect(read(file)).toMatch(/^# yaml-language-server: \$schema=\.\.\/config\/pipeline\.schema/)
  })
})

interface JsonSchema {
  readonly description?: string
  readonly properties: Readonly<Record<string, JsonSchema>>
}

// The defaults of `jobtide simulate`, as its help tells them.
function defaultWorld(day: string) {
  const source = read('src/cli/declarations.ts')
  const byDefault = (option: string) =>
    Number(new RegExp(`'--${option} <n>'.*, (\\d+)\\],$`, 'm').exec(source)?.[1])
  return worldAround(Date.parse(day), byDefault('seed'), byDefault('companies'))
}

function expectFile(path: string, expected: string): void {
  if (UPDATE) writeFileSync(join(packageRoot, path), expected)
  expect(read(path)).toBe(expected)
}

function read(path: string): string {
  return readFileSync(join(packageRoot, path), 'utf8')
}
