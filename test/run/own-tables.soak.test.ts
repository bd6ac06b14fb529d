/** A replay does not lose what a user created in the warehouse: it refuses, and names it. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect, it, vi } from 'vitest'
import { sha256Hex } from '../../src/support/hash.ts'
import { done, openSite, type Site } from '../helpers/run-cli.ts'

vi.setConfig({ testTimeout: 120_000 })

const warehouseOf = (site: Site) => join(site.dataDir, 'jobtide.duckdb')

async function siteWith(...statements: readonly string[]): Promise<Site> {
  const site = await openSite({ companies: 2 })
  done(await site.call(['run', site.pipeline, '--no-publish']))
  await runIn(site, statements)
  return site
}

async function runIn(site: Site, statements: readonly string[]): Promise<void> {
  const instance = await DuckDBInstance.create(warehouseOf(site))
  const connection = await instance.connect()
  try {
    for (const statement of statements) await connection.run(statement)
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

it('a replay exits with 2 if there are a table, a view, a macro, a sequence and a type of the user, and changes nothing; --drop-own drops them', async () => {
  const site = await siteWith(
    'create schema "of mine"',
    'create table "of mine"."a table" as select 42 as answer',
    'create view a_first as select profile_id from stints',
    'create macro mine(a) as a + 1',
    'create sequence numbers',
    `create type mood as enum ('good')`,
  )
  const before = sha256Hex(readFileSync(warehouseOf(site)))
  const { exitCode, stderr } = await site.call(['replay'])
  expect(exitCode).toBe(2)
  expect(stderr).toContain(
    '5 things of your own: table of mine.a table, view main.a_first, sequence main.numbers, type main.mood, macro main.mine',
  )
  expect(stderr).toContain('jobtide replay --drop-own')
  expect(sha256Hex(readFileSync(warehouseOf(site)))).toBe(before)
  // A build ignores them.
  done(await site.call(['build']))
  done(await site.call(['replay', '--drop-own']))
  const left = `select count(*)::int as n from duckdb_tables() where table_name = 'a table'`
  expect(await site.query(left)).toEqual([{ n: 0 }])
})
