/** What a user made in the warehouse outlives a replay: it is copied with its rows, keys and indexes, or the replay refuses and names it. */

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

it('a replay keeps 4 tables, a key, an index, 10,000 rows and 2 views, the first one over the second', async () => {
  const site = await siteWith(
    'create schema "of mine"',
    `create table "of mine"."a table" (id integer primary key, note varchar not null default '-')`,
    `insert into "of mine"."a table" select n, 'note ' || n from range(10000) as t(n)`,
    `comment on table "of mine"."a table" is 'Frieda''s'`,
    `comment on column "of mine"."a table".note is 'what she wrote'`,
    'create index by_note on "of mine"."a table" (note)',
    'create table z_referred (id integer primary key)',
    'create table referring (id integer references z_referred (id), tags varchar[])',
    'insert into z_referred values (7)',
    `insert into referring values (7, ['x', 'y'])`,
    'create table empty (a integer)',
    'create view z_last as select profile_id from stints',
    'create view a_first as select count(*) as people from z_last',
  )
  const people = await site.query('from a_first')
  const { kept } = await site.json<{ kept: string[] }>('replay')
  expect(kept.toSorted()).toEqual([
    'main.a_first',
    'main.empty',
    'main.referring',
    'main.z_last',
    'main.z_referred',
    'of mine.a table',
  ])
  expect(await site.query('from a_first')).toEqual(people)
  expect(await site.query('from referring')).toEqual([{ id: 7, tags: ['x', 'y'] }])
  const sums = 'select count(*)::int as rows, sum(id)::int as ids from "of mine"."a table"'
  expect(await site.query(sums)).toEqual([{ rows: 10_000, ids: 49_995_000 }])
  expect(await site.query('select index_name from duckdb_indexes()')).toContainEqual({
    index_name: 'by_note',
  })
  await expect(
    runIn(site, [`insert into "of mine"."a table" values (1, 'again')`]),
  ).rejects.toThrow(/primary key/i)
  const comments = `select comment from duckdb_tables() where table_name = 'a table'
    union all select comment from duckdb_columns() where table_name = 'a table' and comment is not null`
  expect(await site.query(comments)).toEqual([
    { comment: "Frieda's" },
    { comment: 'what she wrote' },
  ])
  // A build does not mind them.
  done(await site.call(['build']))
})

it('a replay exits with 2 if a macro, a sequence and a type cannot be copied, and changes nothing; --drop-own drops them', async () => {
  const site = await siteWith(
    'create table plain as select 42 as answer',
    'create macro mine(a) as a + 1',
    'create sequence numbers',
    `create type mood as enum ('good')`,
  )
  const before = sha256Hex(readFileSync(warehouseOf(site)))
  const { exitCode, stderr } = await site.call(['replay'])
  expect(exitCode).toBe(2)
  for (const name of ['3 things', 'macro main.mine', 'sequence main.numbers', 'type main.mood'])
    expect(stderr).toContain(name)
  expect(stderr).toContain('jobtide replay --drop-own')
  expect(sha256Hex(readFileSync(warehouseOf(site)))).toBe(before)
  const { stdout } = done(await site.call(['replay', '--drop-own']))
  expect(stdout).not.toContain('of your own')
  const left = `select count(*)::int as n from duckdb_tables() where table_name = 'plain'`
  expect(await site.query(left)).toEqual([{ n: 0 }])
})
