/** The build of the package finds what models and checks read, and writes it to dist/; src finds it again each time. */

import { appendFileSync, cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readProject, type Project } from '../../src/model/project.ts'
import { packageRoot, sqlFolder } from '../../src/support/assets.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

let warehouse: Warehouse
let built: { readonly readProject: typeof readProject }
// The engine, and the statements it gets.
const asked: string[] = []
const spied = {
  all: (sql: string) => {
    asked.push(sql)
    return warehouse.all(sql)
  },
} as Warehouse

beforeAll(async () => {
  warehouse = await openWarehouse({ path: ':memory:', mode: 'write' })
  built = (await import(join(packageRoot, 'dist', 'model', 'project.js'))) as typeof built
})
afterAll(() => warehouse.close())

it('the package knows what its 91 models and 100 checks read, without asking the engine', async () => {
  const kept = await built.readProject(spied)
  expect(asked).toEqual([])
  const parsed = await readProject(warehouse)
  expect(parsed.nodes.length).toBeGreaterThan(80)
  expect(plain(kept)).toEqual(plain(parsed))
})

it('an edited model is parsed, and its place in the run order follows what it reads now', async () => {
  const folder = join(temporaryFolder(), 'models')
  cpSync(join(sqlFolder, 'models'), folder, { recursive: true })
  const edited = join(folder, 'marts', 'joiners.sql')
  const text = readFileSync(edited, 'utf8').trim().replace(/;$/, '')
  expect(text).not.toMatch(/\brole_spells\b/)
  appendFileSync(edited, '\nand exists (from role_spells)\n')
  asked.length = 0
  const { nodes } = await built.readProject(spied, folder)
  expect(asked).toHaveLength(1)
  expect(asked[0]).toContain('and exists (from role_spells)')
  expect(asked[0]).not.toContain('from leavers')
  const names = nodes.map(({ name }) => name)
  expect(nodes.find(({ name }) => name === 'joiners')?.reads).toContain('role_spells')
  expect(names.indexOf('joiners')).toBeGreaterThan(names.indexOf('role_spells'))
})

function plain({ nodes, checks, fingerprint }: Project) {
  const shown = nodes.map(({ name, reads, storedSql }) => ({ name, reads, storedSql }))
  return { nodes: shown, checks: checks.map(({ name, reads }) => ({ name, reads })), fingerprint }
}
