/** A lost suppression list on the command line: exit 9, and no erased person comes back. */

import { createHash } from 'node:crypto'
import {
  cpSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { done, openSite } from '../helpers/run-cli.ts'

it('load, replay, run and restore exit with 9 if the suppression list is lost, buy nothing, and leave the warehouse unchanged', async () => {
  const site = await openSite({ companies: 2, events: 60 })
  expect((await site.call(['run', site.pipeline])).exitCode).toBe(0)
  const [person] = await site.query<{ id: string }>('select min(profile_id) as id from people')
  const snapshots = join(site.folder, 'backup')
  cpSync(join(site.dataDir, 'snapshots'), snapshots, { recursive: true })
  done(await site.call(['forget', person!.id, '--yes']))

  const list = join(site.dataDir, 'suppressed.json')
  const warehouse = join(site.dataDir, 'jobtide.duckdb')
  const good = readFileSync(list, 'utf8')
  const state = () => ({
    warehouse: createHash('sha256').update(readFileSync(warehouse)).digest('hex'),
    requests: site.simulator.account().requests,
    leftovers: readdirSync(site.dataDir).filter((name) => name.includes('.replay')),
  })
  const before = state()
  rmSync(list)
  for (const command of [['load'], ['replay'], ['run', site.pipeline]]) {
    const { exitCode, stderr } = await site.call(command)
    expect(exitCode, `${command[0]}: ${stderr}`).toBe(9)
    expect(stderr).toContain('would come back')
    expect(state()).toEqual(before)
  }

  // A restore checks the journal and the list of the data directory that it restores into.
  renameSync(warehouse, `${warehouse}.aside`)
  const restore = await site.call(['restore', snapshots])
  expect(restore.exitCode, restore.stderr).toBe(9)
  expect(readdirSync(site.dataDir)).not.toContain('jobtide.duckdb')
  const elsewhere = join(site.folder, 'elsewhere')
  mkdirSync(elsewhere)
  cpSync(join(site.dataDir, 'certificates'), join(elsewhere, 'certificates'), { recursive: true })
  expect((await site.call(['restore', snapshots, '--data-dir', elsewhere])).exitCode).toBe(9)

  writeFileSync(list, good)
  expect((await site.call(['replay'])).exitCode).toBe(0)
  expect(await site.query(`from people where profile_id = '${person!.id}'`)).toEqual([])
}, 240_000)
