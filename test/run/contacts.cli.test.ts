/** Contacts on the pages of companies: kept only if a pipeline says so, and erased by their address. */

import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it, vi } from 'vitest'
import { openJournal } from '../../src/journal/journal.ts'
import { realClock } from '../../src/support/clock.ts'
import { done } from '../helpers/run-cli.ts'
import { openCollection } from './collect-fixture.ts'

// An erasure builds all models again.
vi.setConfig({ testTimeout: 300_000 })

const MAIL = /"(?:info|ceo)@[^"]+"/g

/** The bodies in the journal of a data directory. */
function bodiesIn(dataDir: string): string {
  const journal = openJournal(`${dataDir}/journal`, realClock)
  const bodies = journal
    .segments()
    .flatMap((segment) => [...journal.read(segment)].map((frame) => frame.payload().toString()))
  return bodies.join('')
}

const mailsIn = (dataDir: string) => bodiesIn(dataDir).match(MAIL)?.length ?? 0

it('contacts and people of a page are in no stored answer; contacts are if a pipeline says contacts: true', async () => {
  const site = await openCollection({ companies: 3 })
  done(await site.call(['extract', site.pipeline]))
  expect(mailsIn(site.dataDir)).toBe(0)
  expect(bodiesIn(site.dataDir)).not.toContain('"employees"')
  writeFileSync(site.pipeline, `${readFileSync(site.pipeline, 'utf8')}contacts: true\n`)
  const other = `${site.folder}/other`
  done(await site.call(['extract', site.pipeline, '--data-dir', other]))
  // Each of the 3 has 2 addresses, in the full list and in the list of professional ones.
  expect(mailsIn(other)).toBe(12)
})

it('forget removes an address and a number in any spelling, and says that nothing is left', async () => {
  const site = await openCollection({ companies: 3 }, ['contacts: true'])
  done(await site.call(['extract', site.pipeline]))
  done(await site.call(['load']))
  const body = async () => {
    const rows = await site.query<{ body: string }>('select body from answers order by request_id')
    return rows.map((row) => row.body).join('\n')
  }
  const before = await body()
  const address = /ceo@[^"]+/.exec(before)?.[0] ?? ''
  const number = /\+1555\d+/.exec(before)?.[0] ?? ''
  expect(before.split(address)).toHaveLength(3)
  const erased = await site.call(['forget', address.toUpperCase(), number, '--yes'])
  expect(erased).toMatchObject({ exitCode: 0 })
  const after = await body()
  for (const text of [address, number]) expect(after).not.toContain(text)
  expect(after.match(MAIL)).toHaveLength(10)
  expect(mailsIn(site.dataDir)).toBe(10)
})

it('contacts: true is refused for an endpoint whose answers have none', async () => {
  const site = await openCollection()
  const text = 'name: found\nkind: collect\nendpoint: people-search\ncontacts: true\n'
  writeFileSync(site.pipeline, text)
  expect(await site.call(['plan', site.pipeline])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('contacts: answers of people-search have none') as unknown,
  })
})
