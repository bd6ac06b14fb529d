/** `report` and `digest` in a terminal: the question, one definition of who joined and left, and where they may write. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { withWarehouse } from '../../src/warehouse/warehouse.ts'
import { callCli, done } from '../helpers/run-cli.ts'
import { onTestsFinished, temporaryFolder } from '../helpers/temporary-folder.ts'
import { insertEvents } from '../helpers/warehouse.ts'
import { deal, eventOf } from '../report/deal.ts'

const onEnd = onTestsFinished()
let root = ''
beforeAll(async () => {
  root = temporaryFolder(onEnd)
  const path = join(root, 'jobtide.duckdb')
  await withWarehouse({ path, mode: 'write' }, async (warehouse) => {
    // Ada is also promoted.
    await insertEvents(warehouse, [
      ...deal,
      {
        ...eventOf('Ada', 'Initech', 'title_change', '2024-03-20'),
        title_previous: 'Engineer',
        title_current: 'VP Engineering',
      },
    ])
    await buildModels(warehouse, { buildId: 'report', builtAt: new Date(0) })
  })
}, 60_000)

const call = (...args: readonly string[]) =>
  callCli([...args, '--from', '2024-02-01', '--to', '2024-03-31', '--data-dir', root])

it('both ask the question, count without transfers, and say promoted', async () => {
  const { stdout: report } = done(await call('report'))
  expect(report).toMatch(/^Are people being lost\? +About as many came as went: /m)
  expect(report).toMatch(/^joined +1, 0 at director level or above$/m)
  expect(report).toMatch(/^left +1, 0 /m)
  expect(report).toMatch(/^promoted +1, 1 /m)
  const transfers = '12 joined and 12 left by a transfer, such as an acquisition: not counted'
  expect(report).toMatch(new RegExp(`^transfers +${transfers}$`, 'm'))
  const { stdout: digest } = done(await call('digest'))
  expect(digest).toContain('Ada was promoted: Engineer → VP Engineering, Initech')
  expect(digest).toContain('Initech: 1 joined, 0 left, 1 promoted')
  expect(digest).toContain(transfers)
  expect(report + digest).not.toMatch(/\brose\b/i)
  const { stdout: mail } = done(await call('digest', '--format', 'email'))
  expect(mail).toContain('\nAre people being lost?\nAbout as many')
})

it('a report by organisation is a folder: the name of a file is refused, and nothing is written', async () => {
  const out = join(root, '..', `accounts-${process.pid}.html`)
  const { exitCode, stderr } = await call('report', '--by', 'organization', '--out', out)
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('the name is that of a file')])
  expect(existsSync(out)).toBe(false)
})
