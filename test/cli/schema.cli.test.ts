/**
 * Compares `jobtide schema` with what commands print, using a validator that is not ours. In every test with --json,
 * test/helpers/run-cli.ts checks that no command prints an undeclared key.
 */

import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, it, vi } from 'vitest'
import { DOCUMENTS } from '../../src/cli/documents.ts'
import { callCli, done, openSite } from '../helpers/run-cli.ts'

vi.setConfig({ testTimeout: 60_000 })

const ajv = new Ajv2020({
  formats: { 'date-time': (value: string) => !Number.isNaN(Date.parse(value)) },
})

it('--json prints what jobtide schema says, including failures', async () => {
  const site = await openSite({ companies: 3 })
  const cases = [
    ['plan', site.pipeline],
    ['run', site.pipeline],
    ['status'],
    ['coverage', '--prove'],
    ['credits'],
    ['credits', '--by', 'organization'],
    ['rejects'],
    ['models'],
    ['query', 'from people limit 2'],
    ['titles', site.organizations],
    ['snapshots', '--pipeline', site.pipeline],
    ['verify'],
    ['export-person', 'nobody'],
  ]
  for (const args of cases) {
    const schema = JSON.parse(done(await callCli(['schema', args[0] ?? ''])).stdout) as object
    const document = JSON.parse((await site.call([...args, '--json'])).stdout) as object
    expect([args, ajv.validate(schema, document), ajv.errors]).toEqual([args, true, null])
    if (!Array.isArray(document))
      expect(ajv.validate(schema, { ...document, schema_version: 0 })).toBe(false)
  }
})

it('jobtide schema shows the schemas of all commands in one document', async () => {
  const { stdout } = done(await callCli(['schema']))
  const schema = JSON.parse(stdout) as { $defs: object }
  expect(Object.keys(schema.$defs)).toEqual(Object.keys(DOCUMENTS))
  expect(ajv.validateSchema(schema)).toBe(true)
  const { exitCode, stderr } = await callCli(['schema', 'nonsense'])
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('Name one of: demo, run')])
})
