/** Signals from their creation to the tables: what is watched, delivered, loaded, and erased again. */

import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { DAY } from '../../src/support/units.ts'
import { done, openSite } from '../helpers/run-cli.ts'
import { ledger } from './collect-fixture.ts'

// Several complete runs.
vi.setConfig({ testTimeout: 240_000 })

const SECRET = { JOBTIDE_WEBHOOK_SECRET: 'a-webhook-secret-for-tests' }
const WATCHED = 40

async function openSignals() {
  const site = await openSite({ companies: 12 })
  const receiver = site.start(['listen', '--port', '0', '--largest-mib', '1', '--json'], {
    env: SECRET,
  })
  onTestFinished(() => void receiver.process.kill('SIGKILL'))
  while (!receiver.stdout().includes('\n')) await pause(20)
  const { url } = JSON.parse(receiver.stdout()) as { url: string }
  done(await site.call(['extract', site.pipeline]))
  done(await site.call(['load']))
  done(await site.call(['build']))
  const signals = join(site.folder, 'signals.yaml')
  const people = `select person_network_url from people where person_network_url is not null and not is_between order by 1 limit ${WATCHED}`
  writeFileSync(
    signals,
    [
      'name: signals',
      'kind: collect',
      'endpoint: signal-create',
      `for_each: { sql: ${people} }`,
      `options: { webhook_url: '${url}', frequency: every_hour }`,
      '',
    ].join('\n'),
  )
  return { ...site, signals, receiver, url }
}

describe('signals', () => {
  it('are created once for each person, send signed deliveries to listen, and fill their tables; forget removes a person', async () => {
    const site = await openSignals()
    const plan = await site.json('plan', site.signals)
    expect(plan).toMatchObject({ credits_at_least: 0, credits_at_most: WATCHED })
    done(await site.call(['run', site.signals, '--no-publish'], { env: SECRET }))
    expect((await ledger(site))[0]?.credits).toBe(site.simulator.account().credits)
    const { requests } = site.simulator.account()
    done(await site.call(['run', site.signals, '--no-publish'], { env: SECRET }))
    expect(site.simulator.account().requests).toBe(requests)

    await site.simulator.runSignals()
    site.advance(200 * DAY)
    // Some come twice, and some late, with those of the next runs.
    for (let run = 0; run < 4; run += 1) await site.simulator.runSignals()
    expect((await fetch(site.url, { method: 'POST', body: '{}' })).status).toBe(401)
    done(await site.call(['load']))
    done(await site.call(['build']))
    const [counts] = await site.query<{ watched: number; begun: number; activities: number }>(
      `select count(*) as watched, count(baseline_at) as begun, sum(activities) as activities
       from signal_profiles where profile_id is not null and added_at is not null`,
    )
    expect(counts).toMatchObject({ watched: WATCHED, begun: WATCHED })
    expect(counts?.activities).toBeGreaterThan(5)
    const [known] = await site.query(
      `select count(*) as all_rows, count(distinct event_id) as events, count(profile_id) as people,
          count(organization_id) as organizations, count(occurred_at) as dated from person_activities`,
    )
    const { activities } = counts ?? { activities: 0 }
    expect(known).toEqual({
      all_rows: activities,
      events: activities,
      people: activities,
      organizations: activities,
      dated: activities,
    })
    // The secret was sent, but is in no file.
    const places = readdirSync(site.folder, { recursive: true, withFileTypes: true })
    for (const place of places.filter((one) => one.isFile() && !one.name.includes('duckdb'))) {
      const text = readFileSync(join(place.parentPath, place.name), 'latin1')
      expect(text.includes(SECRET.JOBTIDE_WEBHOOK_SECRET), place.name).toBe(false)
    }

    const [person] = await site.query<{ id: string; url: string }>(
      'select profile_id as id, min(profile_url) as url from person_activities group by 1 order by count(*) desc limit 1',
    )
    const exported = await site.json<{
      tables: Record<string, unknown[]>
      answers_as_sent: { endpoint: string }[]
    }>('export-person', person?.id ?? '')
    expect(Object.keys(exported.tables)).toEqual(
      expect.arrayContaining(['people', 'person_activities', 'signal_profiles']),
    )
    const sent = exported.answers_as_sent.map(({ endpoint }) => endpoint)
    expect(new Set(sent)).toEqual(new Set(['signal-create', 'signal-delivery']))
    // Deliveries in the inbox at that time are erased as well.
    site.advance(50 * DAY)
    await site.simulator.runSignals()
    const erased = await site.json('forget', '--yes', person?.id ?? '')
    expect(erased).toMatchObject({ is_complete: true, remaining: [] })
    expect(
      await site.query(
        `select count(*) as n from person_activities where profile_url = '${person?.url}'`,
      ),
    ).toEqual([{ n: 0 }])
    // Later deliveries about the person are left out.
    site.advance(100 * DAY)
    await site.simulator.runSignals()
    done(await site.call(['load']))
    done(await site.call(['build']))
    expect(
      await site.query(
        `select count(*) as n from person_activities where profile_url = '${person?.url}'`,
      ),
    ).toEqual([{ n: 0 }])
    // More than its limit.
    const body = JSON.stringify({ text: 'x'.repeat(1_100_000) })
    expect((await fetch(site.url, { method: 'POST', body })).status).toBe(413)
    site.receiver.process.kill('SIGTERM')
    const ended = await site.receiver.ended
    expect(ended.exitCode).toBe(0)
    expect(ended.stderr).toMatch(/kept \d+ deliveries, refused 2 requests, failed to write 0/)
    const status = await site.call(['status'])
    expect(status.stdout).toMatch(/not taken +2 deliveries, the last .* UTC: 413, a body may have/)
    expect(await site.json('status')).toMatchObject({ deliveries_refused: 2 })
  })

  it('are refused if anyone could deliver: a public address needs a secret', async () => {
    const site = await openSite({ companies: 1 })
    for (const [args, message] of [
      [['--host', '0.0.0.0'], 'anyone could deliver there'],
      [['--path', 'signals'], 'expected a path'],
      [['--path', '/health'], 'expected a path'],
      [['--signature-header', 'x y'], 'expected the name of a header'],
    ] as const) {
      const refused = await site.run(['listen', '--port', '0', ...args])
      expect(refused.exitCode, args.join(' ')).toBe(2)
      expect(refused.stderr).toContain(message)
    }
  })
})
