/** Each change in the warehouse is sent once, whatever step of the delivery is killed. */

import { plainText, sentFrom, slackBody, type Notice } from '../../src/observe/messages.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Context } from '../../src/cli/context.ts'
import { destinationsOf, tellDigest } from '../../src/cli/notify.ts'
import { buildModels } from '../../src/model/build.ts'
import { openTold, type ToldChanges } from '../../src/observe/outbox.ts'
import { dataDirectory } from '../../src/run/data-directory.ts'
import { realClock } from '../../src/support/clock.ts'
import { createScrubber } from '../../src/support/logger.ts'
import { withWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { aQuestion } from '../plan/plan-fixture.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { insertEvents, type GivenEvent } from '../helpers/warehouse.ts'

interface Body {
  readonly counts: readonly { readonly changes: number }[]
  readonly changes: readonly { readonly change: string; readonly event_key: string }[]
  readonly more: number
  readonly hint: string | null
}

/** A webhook that drops repeated keys; `posts` counts all messages. */
async function startReceiver() {
  const receiver = { bodies: new Map<string, Body>(), posts: 0, url: '' }
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const key = String(request.headers['idempotency-key'])
      receiver.posts += 1
      if (!receiver.bodies.has(key)) receiver.bodies.set(key, JSON.parse(body) as Body)
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return receiver
}

const TABLES = ['joiners', 'leavers', 'promotions'] as const
const NIGHTS = 6

let directory: ReturnType<typeof dataDirectory>
let context: Context
// One build for all tests; each test has its own organisation.
beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-digest-'))
  directory = dataDirectory(folder)
  const parts = { directory, clock: realClock, environment: {}, scrubber: createScrubber() }
  context = { ...parts, stop: new AbortController().signal } as Context
  await inWarehouse(async (warehouse) => {
    await insertEvents(warehouse, [...sixNights(), ...manyJoined(), ...aFew()])
    await buildModels(warehouse, { buildId: 'nights', builtAt: new Date('2026-11-24T00:00:00Z') })
    for (const table of TABLES) {
      await warehouse.run(`create table all_${table} as from ${table}`)
      await warehouse.run(`delete from ${table} where organization_id = 'org_1'`)
    }
  })
  return () => rmSync(folder, { recursive: true })
}, 120_000)

const inWarehouse = <T>(work: (warehouse: Warehouse) => Promise<T>) =>
  withWarehouse({ path: directory.warehouse, mode: 'write' }, work)

/** Adds the changes of night `night` and builds. */
const show = (night: number) =>
  inWarehouse(async (warehouse) => {
    for (const table of TABLES) {
      const those = `event_key like 'night ${night} %' and organization_id = 'org_1'`
      await warehouse.run(`insert into ${table} from all_${table} where ${those}`)
    }
  })

/** The joiners, leavers and promotions of org_1 in the tables, as `change event_key`. */
const changesInTables = () =>
  inWarehouse(async (warehouse) => {
    const rows = await warehouse.all<{ name: string }>(
      `select 'joined ' || event_key as name from joiners where is_primary and organization_id = 'org_1'
       union all select 'left ' || event_key from leavers where is_primary and organization_id = 'org_1'
       union all select 'rose ' || event_key from promotions where is_primary and organization_id = 'org_1'`,
    )
    return rows.map(({ name }) => name).toSorted()
  })

const joined = (person: string, more: Partial<GivenEvent> = {}): GivenEvent => ({
  profile_id: person,
  organization_id: 'org_1',
  event_type: 'joined',
  changed_at: '2026-03-01T00:00:00Z',
  title_current: 'Engineer',
  person_full_name: `Name of ${person}`,
  ...more,
})

/**
 * Each night one person joins, another is found to have joined years ago, one is promoted, and one of the previous
 * night leaves.
 */
function sixNights(): GivenEvent[] {
  return Array.from({ length: NIGHTS }, (_, at) => {
    const night = at + 1
    const key = (what: string) => ({ event_key: `night ${night} ${what}` })
    const title = {
      event_type: 'title_change',
      changed_at: '2026-09-01T00:00:00Z',
      title_previous: 'Engineer',
      title_current: 'Engineering Manager',
    }
    const old = { changed_at: '2019-05-01T00:00:00Z', detected_at: '2020-01-01T00:00:00Z' }
    const left = {
      event_type: 'left',
      changed_at: '2026-10-01T00:00:00Z',
      title_current: 'Engineering Manager',
    }
    return [
      joined(`new ${night}`, key('joined')),
      joined(`late ${night}`, { ...old, ...key('late') }),
      joined(`new ${night}`, { ...title, ...key('rose') }),
      joined(`new ${night - 1}`, { ...left, ...key('left') }),
    ].slice(0, night === 1 ? 3 : 4)
  }).flat()
}

const HOSTILE = `<!channel> ${'&'.repeat(90)}`

function manyJoined(): GivenEvent[] {
  return Array.from({ length: 236 }, (_, at) =>
    joined(`person ${at}`, {
      organization_id: 'org_many',
      title_current: at === 200 ? 'Chief Technology Officer' : HOSTILE,
      person_full_name: at === 200 ? 'Ada' : HOSTILE,
      organization_name: HOSTILE,
      person_network_url: `https://example.com/in/${at}?a=1&b=2|3`,
    }),
  )
}

function aFew(): GivenEvent[] {
  return ['kept', 'erased'].map((person) => joined(person, { organization_id: 'org_few' }))
}

const jobOver = (value: string) => ({
  pipeline: 'nightly',
  question: aQuestion({ organizations: [{ by: 'id', value }] }),
})

const KILLED = new Error('killed')
type Step = 'begin' | 'send' | 'sent'

/** A destination and a ledger that stop as if killed, before or after a step. */
async function killedAt(
  step: Step,
  when: 'before' | 'after',
  url: string,
  job = jobOver('org_1'),
): Promise<void> {
  const [destination] = destinationsOf(context, notifying(url))
  if (destination === undefined) throw new Error('no destination')
  const dying = (name: Step, work: () => void) => () => {
    if (name === step && when === 'before') throw KILLED
    work()
    if (name === step) throw KILLED
  }
  const real = openTold(destination.folder)
  const ledger: ToldChanges = {
    ...real,
    begin: (digest) => dying('begin', () => real.begin(digest))(),
    sent: dying('sent', () => real.sent()),
  }
  const deliver = async (notice: Notice) => {
    if (step === 'send' && when === 'before') throw KILLED
    await destination.deliver(notice)
    if (step === 'send') throw KILLED
  }
  const telling = tellDigest(context, { ...destination, deliver }, job, ledger)
  await expect(telling).rejects.toBe(KILLED)
}

function notifying(url: string) {
  return { webhook: { url, format: 'json' as const, on: ['digest' as const] }, on: [] }
}

async function tellAll(url: string, job = jobOver('org_1')): Promise<void> {
  const [destination] = destinationsOf(context, notifying(url))
  if (destination !== undefined) await tellDigest(context, destination, job)
}

const toldBy = ({ bodies }: { readonly bodies: Map<string, Body> }) =>
  [...bodies.values()]
    .flatMap(({ changes }) => changes.map(({ change, event_key: key }) => `${change} ${key}`))
    .toSorted()

describe('a digest', () => {
  it('over 6 nights killed at 6 steps contains every change in the tables once, even those detected years ago', async () => {
    const receiver = await startReceiver()
    let nights = 0
    for (const step of ['begin', 'send', 'sent'] as const) {
      for (const when of ['before', 'after'] as const) {
        nights += 1
        await show(nights)
        await killedAt(step, when, receiver.url)
      }
    }
    await tellAll(receiver.url)
    const posts = receiver.posts
    await tellAll(receiver.url)
    const tables = await changesInTables()
    expect(tables.length).toBe(3 + 5 * 4)
    expect(nights).toBe(NIGHTS)
    expect(new Set(tables.map((name) => name.split(' ', 1)[0]))).toEqual(
      new Set(['joined', 'left', 'rose']),
    )
    expect(toldBy(receiver)).toEqual(tables)
    // Some were sent twice, but each was accepted once.
    expect(posts).toBeGreaterThan(receiver.bodies.size)
    expect(receiver.posts).toBe(posts)
  })

  it('of 236 changes names 24, executives first, and counts 212, within 30 lines and Slack’s limits', async () => {
    const notices: Notice[] = []
    const destination = {
      folder: temporaryFolder(),
      deliver: async (notice: Notice) =>
        void notices.push(sentFrom(notice, { host: 'batch-3', dataDir: '/srv/jobtide' })),
    }
    await tellDigest(context, destination, jobOver('org_many'))
    const [notice] = notices
    if (notice === undefined) throw new Error('nothing was told')
    const body = notice.document as Body
    expect([body.changes.length, body.more, body.changes[0]]).toMatchObject([
      24,
      212,
      { level: 'cxo' },
    ])
    const mail = plainText(notice.paragraphs).split('\n')
    expect(mail.length).toBeLessThanOrEqual(30)
    expect(mail.at(-2)).toMatch(/^\S+, \/.*/)
    expect(mail.at(-3)).toBe('and 212 more: jobtide report --from 2026-03-01')
    expect(mail[2]).toMatch(
      /^Ada joined: .*Chief Technology Officer, .* https:\/\/example\.com\/in\/200/,
    )
    const { blocks } = slackBody(notice) as {
      readonly blocks: readonly { readonly text: { readonly text: string } }[]
    }
    expect(blocks.length).toBeLessThanOrEqual(50)
    const texts = blocks.map((block) => block.text.text)
    expect(Math.max(...texts.map((one) => one.length))).toBeLessThanOrEqual(3_000)
    expect(texts.join('\n').match(/\|profile>/g)?.length).toBe(24)
    expect(texts.join('\n')).not.toContain('<!')
    expect(notice.subject).toBe('Jobtide nightly: 236 job changes')
  })

  it('names neither people erased before delivery nor organisations of other pipelines; another destination gets all of its own', async () => {
    const receiver = await startReceiver()
    const job = jobOver('org_few')
    await killedAt('send', 'before', receiver.url, job)
    await inWarehouse((warehouse) =>
      warehouse.run(`delete from joiners where profile_id = 'erased'`),
    )
    await tellAll(receiver.url, job)
    await tellAll(`${receiver.url}another`, job)
    const told = toldBy(receiver)
    expect(told).toEqual([expect.stringContaining('kept'), expect.stringContaining('kept')])
    // The kept state names no person.
    const [destination] = destinationsOf(context, notifying(receiver.url))
    expect(openTold(destination?.folder ?? '').told()).toMatch(/^[\da-f]{16} [\da-f]{16}$/)
  })
})
