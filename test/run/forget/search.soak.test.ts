import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Marker } from '../../../src/run/forget/pending.ts'
import { markersOf } from '../../../src/run/forget/known.ts'
import { searchFolder, unsearchedIn } from '../../../src/run/forget/search.ts'
import { quoteText } from '../../../src/warehouse/sql-text.ts'
import { withWarehouse } from '../../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { insertEvents, memoryWarehouse } from '../../helpers/warehouse.ts'
import { aPage, journalOfPages, wireEvent } from '../../load/load-fixture.ts'

const NAME = 'Zoë "Z" Ünal-q7x9'
const marker = (text: string, is_unique = true): Marker => ({ text, is_unique })

async function search(folder: string, markers: readonly Marker[]) {
  const scratchFolder = join(temporaryFolder(), 'scratch')
  const { matches } = await searchFolder(folder, { markers, scratchFolder })
  return matches.map((path) => path.slice(folder.length + 1)).toSorted()
}

describe('searchFolder', () => {
  it('finds a name in 6 kinds of file, and in no file without it', async () => {
    const folder = temporaryFolder()
    const at = (name: string) => join(folder, name)
    const row = `select ${quoteText(NAME)} as name, 1 as one from range(1000)`
    await journalOfPages(folder, [[aPage([wireEvent({ name: NAME })])]])
    await withWarehouse({ path: at('a.duckdb'), mode: 'write' }, (warehouse) =>
      warehouse.run(`create table named as ${row}; checkpoint`),
    )
    const engine = await memoryWarehouse()
    await engine.run(
      `copy (${row}) to ${quoteText(at('a.parquet'))} (format parquet, compression zstd);
       copy (select {'inner': [name]} as nested from (${row})) to ${quoteText(at('nested.parquet'))} (format parquet);
       copy (select 'Zoe' as name) to ${quoteText(at('other.parquet'))} (format parquet)`,
    )
    engine.close()
    writeFileSync(at('plain.txt'), `x${NAME}y`)
    writeFileSync(at('escaped.json'), JSON.stringify({ name: NAME }))
    const ascii = JSON.stringify(NAME).replace('ë', '\\u00eb').replace('Ü', '\\u00dc')
    writeFileSync(at('ascii.json'), ascii)
    writeFileSync(at('other.txt'), 'Zoë Z Ünal-q7x')
    const found = await search(folder, [marker(NAME)])
    expect(found.filter((name) => name.endsWith('.journal'))).toHaveLength(1)
    expect(found.filter((name) => !name.endsWith('.journal'))).toEqual([
      'a.duckdb, table main.named,',
      'a.parquet',
      'ascii.json',
      'escaped.json',
      'nested.parquet',
      'plain.txt',
    ])
  })

  it('looks for 1,000 texts in 2,000 rows of 20 columns within the memory of a reader', async () => {
    const folder = temporaryFolder()
    const columns = Array.from({ length: 20 }, (_, nth) => `repeat(n::varchar, 10) as c${nth}`)
    await withWarehouse({ path: join(folder, 'a.duckdb'), mode: 'write' }, (warehouse) =>
      warehouse.run(`create table wide as select n::varchar as id, ${columns.join(', ')} from range(2000) as t(n);
        update wide set id = 'per_sought_1999' where id = '1999'; checkpoint`),
    )
    const markers = Array.from({ length: 1_000 }, (_, nth) => marker(`per_sought_${1_000 + nth}`))
    expect(await search(folder, markers.slice(0, 999))).toEqual([])
    expect(await search(folder, markers)).toEqual(['a.duckdb, table main.wide,'])
  }, 60_000)

  it('finds a text in a page with any escapes', async () => {
    const escaped = (character: string) =>
      `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
    for (const written of [
      Array.from('per_unseen_7', escaped).join(''),
      'per_unse\\u0065n_7',
      'x/per_unseen_7\\/y',
    ]) {
      const folder = temporaryFolder()
      const page = aPage([wireEvent({ name: 'PLACE' })])
      await journalOfPages(folder, [[{ ...page, body: page.body.replace('PLACE', written) }]])
      const sought = written.includes('/') ? 'x/per_unseen_7/y' : 'per_unseen_7'
      expect(await search(folder, [marker(sought)]), written).toHaveLength(1)
    }
  })

  it('leaves the locks of a data directory alone: another process may wait for one', async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'locks'))
    writeFileSync(join(folder, 'locks', 'waiting.duckdb'), 'no database of this process')
    expect(await search(folder, [marker(NAME)])).toEqual([])
  })

  it('reports files that cannot be searched, such as junk named Parquet, and continues', async () => {
    const folder = temporaryFolder()
    const junk = ['a.duckdb', 'a.parquet', 'empty.parquet', 'torn.parquet']
    for (const name of junk) writeFileSync(join(folder, name), `junk of ${name}`.repeat(99))
    writeFileSync(join(folder, 'empty.parquet'), '')
    writeFileSync(join(folder, 'torn.parquet'), 'PAR1 torn')
    writeFileSync(join(folder, 'named.parquet'), `junk ${NAME}`)
    writeFileSync(join(folder, 'plain.txt'), NAME)
    const scratchFolder = join(temporaryFolder(), 'scratch')
    const report = await searchFolder(folder, { markers: [marker(NAME)], scratchFolder })
    const at = (name: string) => join(folder, name)
    expect(report.matches).toEqual([at('named.parquet'), at('plain.txt')])
    expect(report.unsearched.map(({ name }) => name)).toEqual(junk.map(at))
    for (const sentence of unsearchedIn(report.unsearched)) {
      expect(sentence).toMatch(/ cannot be searched \(.+\): remove it, or check it by hand /)
    }
  })

  it('finds a text that spans two chunks of a file', async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'deep'))
    const text = 'across-the-edge'
    for (const before of [4 * 2 ** 20 - 3, 4 * 2 ** 20 + 5, 8 * 2 ** 20 - 1]) {
      const path = join(folder, 'deep', String(before))
      writeFileSync(path, Buffer.concat([Buffer.alloc(before), Buffer.from(text)]))
    }
    expect(await search(folder, [marker(text)])).toHaveLength(3)
    expect(await search(folder, [marker(`${text}!`)])).toEqual([])
  })

  it('finds an id that is part of others only as a whole value', async () => {
    const folder = temporaryFolder()
    const at = (name: string) => join(folder, name)
    writeFileSync(at('longer.json'), '{"profile_id":"per_12"}')
    writeFileSync(at('whole.json'), '{"profile_id":"per_1"}')
    const engine = await memoryWarehouse()
    await engine.run(
      `copy (select 'per_12' as profile_id) to ${quoteText(at('longer.parquet'))} (format parquet);
       copy (select 'per_1' as profile_id) to ${quoteText(at('whole.parquet'))} (format parquet)`,
    )
    engine.close()
    expect(await search(folder, [marker('per_1', false)])).toEqual(['whole.json', 'whole.parquet'])
  })
})

describe('a table of a database', () => {
  const values = {
    text: (text: string) => quoteText(text),
    json: (text: string) => `cast(${quoteText(JSON.stringify({ id: text }))} as json)`,
    list: (text: string) => `['other', ${quoteText(text)}]`,
    struct: (text: string) => `{'of': {'it''s': ${quoteText(text)}}}`,
    map: (text: string) => `map([${quoteText(text)}], [1])`,
    enum: (text: string) => `cast(${quoteText(text)} as enum(${quoteText(text)}))`,
  }
  // One file for each table, because the search names only the first table of a database that holds a text.
  const found = Object.keys(values).map((type) => `${type}.duckdb, table main.held,`)

  async function tablesWith(written: string): Promise<string> {
    const folder = temporaryFolder()
    for (const [type, value] of Object.entries(values)) {
      await withWarehouse({ path: join(folder, `${type}.duckdb`), mode: 'write' }, (warehouse) =>
        warehouse.run(
          `create table days as select current_date as "day", now() as seen_at;
           create table held as select null as nothing, ${value(written)} as "the "" value", true as found`,
        ),
      )
    }
    return folder
  }

  it('is searched for a text in values of 6 types', async () => {
    const name = "O'Hara-q7x9, Jr."
    expect(await search(await tablesWith(name), [marker(name)])).toEqual(found.toSorted())
  })

  it('is searched for an id with quotes as a whole value of 6 types, but not as a part of one', async () => {
    const id = 'per_"1"'
    const markers = [marker(id, false)]
    expect(await search(await tablesWith(id), markers)).toEqual(found.toSorted())
    expect(await search(await tablesWith(`${id}2`), markers)).toEqual([])
  })

  it('is searched for a numeric id in a table of the user', async () => {
    const folder = temporaryFolder()
    await withWarehouse({ path: join(folder, 'a.duckdb'), mode: 'write' }, (warehouse) =>
      warehouse.run('create table own as select 12345678::bigint as id, 0.5 as share; checkpoint'),
    )
    expect(await search(folder, [marker('12345678')])).toEqual(['a.duckdb, table main.own,'])
    expect(await search(folder, [marker('12345678', false)])).toEqual(['a.duckdb, table main.own,'])
    expect(await search(folder, [marker('1234567', false)])).toEqual([])
  })
})

describe('markersOf', () => {
  it('contains only texts that others do not have: no titles or names of others, short texts, or words of comments', async () => {
    const warehouse = await memoryWarehouse()
    await insertEvents(warehouse, [
      {
        profile_id: 'per_1',
        person_full_name: 'Ada Lovelace',
        person_handle: 'ada',
        person_headline: 'Counting on engines',
        title_current: 'Engineer',
        title_previous: 'organisation',
      },
      { profile_id: 'per_12', person_full_name: 'Ada Lovelace Byron', title_current: 'Engineer' },
    ])
    expect(await markersOf(warehouse, ['per_1'], new Set())).toEqual([
      { text: 'Counting on engines', is_unique: true },
      { text: 'per_1', is_unique: false },
    ])
    warehouse.close()
  })
})
