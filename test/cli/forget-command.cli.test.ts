/** The output and exit codes of `forget` and `export-person`. */

import {
  cpSync,
  existsSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { acquireLock } from '../../src/run/lock.ts'
import { realClock } from '../../src/support/clock.ts'
import { sourceOf } from '../../src/simulator/events.ts'
import { DAY } from '../../src/support/units.ts'
import { done, openSite, type Site } from '../helpers/run-cli.ts'
import { startWebhook } from '../helpers/webhook.ts'
import { filesWith } from '../run/forget/forget-fixture.ts'
import { siteWithPeople, type Person } from './people-fixture.ts'

// Several complete runs.
vi.setConfig({ testTimeout: 240_000 })

describe('jobtide forget', () => {
  it.each([
    [
      'a cell behind the id',
      'per_1\nper_2,Jane Doe\n',
      'people.txt:2: not a profile_id: "per_2,Jane Doe"',
    ],
    ['a note behind it', 'per_1\nper_2 # on Monday\n', 'people.txt:2: not a profile_id'],
    ['an invisible character', '\u200bper_1\n', 'people.txt:1: not a profile_id'],
    ['another end of line in between', 'per_1\rper_2\nper_3\n', ': not a profile_id'],
  ])('refuses a list with %s, and erases no one', async (_, text, message) => {
    const site = await openSite({ companies: 1 })
    const list = join(site.folder, 'people.txt')
    writeFileSync(list, text)
    const refused = await site.call(['forget', '--from', list, '--yes'])
    expect(refused.exitCode).toBe(2)
    expect(refused.stderr).toContain(message)
    expect(existsSync(join(site.dataDir, 'suppressed.json'))).toBe(false)
  })

  it('shows what it would erase and changes nothing; with --yes erases and certifies it; then erases events by age', async () => {
    const { site, people } = await siteWithPeople()
    const [one, other] = people as [Person, Person]
    const texts = people.flatMap((person) => [person.profile_id, person.person_full_name])
    const before = await site.query('select * from people order by profile_id')
    const list = join(site.folder, 'people.txt')
    writeFileSync(list, `\uFEFF${other.profile_id}\r\n\r\n`)
    const args = ['forget', one.profile_id, '--from', list]
    const digest = done(await site.call(['digest', '--days', '400']))
    expect(digest.stdout.trim().split('\n').length).toBeLessThanOrEqual(30)
    expect(await site.json('digest', '--days', '400')).toHaveProperty('executives')
    const report = await site.json<{ path: string; bytes: number }>('report', '--days', '400')
    expect([statSync(report.path).mode & 0o777, statSync(report.path).size]).toEqual([
      0o600,
      report.bytes,
    ])
    expect(readFileSync(report.path, 'utf8')).toContain(other.person_full_name)

    await expectExported(site, one.profile_id)
    const [row] = await site.query<{ page: string }>(
      `select max(person_network_url) as page from job_change_events where profile_id = '${one.profile_id}'`,
    )
    for (const command of ['forget', 'export-person']) {
      const refused = await site.call([command, `${row?.page.toUpperCase() ?? ''}/`])
      expect(refused.exitCode).toBe(2)
      expect(refused.stderr).toContain(`is the page of ${one.profile_id}`)
    }
    const plan = done(await site.call(args))
    expect(plan.stdout).toMatch(/^would be erased: 2 people\n\s*journal +\d+ events in /)
    expect(plan.stdout).toContain('Nothing was changed.')
    expect(existsSync(join(site.dataDir, 'suppressed.json'))).toBe(false)
    expect(await site.query('select * from people order by profile_id')).toEqual(before)

    // It waits for a run in flight.
    const run = await acquireLock(site.dataDir, { command: 'run', clock: realClock })
    setTimeout(() => void run.release(), 2_000)
    const erased = done(await site.call([...args, '--yes']))
    expect(erased.stderr.match(/jobtide: .*?: /g)).toEqual(['jobtide: warning: '])
    expect(erased.stderr).toContain('waiting_for_lock')
    expect(erased.stdout).toMatch(/^erased: 2 people\n/)
    expect(erased.stdout).toMatch(/proof +\d+ texts searched in [\d,]+ files \(.+\), found in 0/)
    const [certificate, ...more] = readdirSync(join(site.dataDir, 'certificates'))
    expect(more).toEqual([])
    const path = join(site.dataDir, 'certificates', certificate!)
    expect(erased.stdout.replaceAll(/\s/g, '')).toContain(`certificate${path}`)
    const content = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
    expect(content).toMatchObject({ is_complete: true, remaining: [] })
    expect(content['people']).toHaveLength(2)
    expect(filesWith(site.dataDir, texts)).toEqual([])
    const left = await site.query<Person>('select * from people order by profile_id')
    expect(left).toHaveLength(before.length - 2)
    expect((await site.call(['verify', join(site.dataDir, 'snapshots')])).exitCode).toBe(0)

    const gone = await site.call(['export-person', one.profile_id])
    expect([gone.exitCode, gone.stdout]).toEqual([2, ''])
    expect(gone.stderr).toContain('was erased')
    expect(gone.stderr).not.toContain('→')
    await expectErasedByAge(site)
  })

  it('in a copy of a data directory leaves the snapshots of the original to an erasure there', async () => {
    const { site, people } = await siteWithPeople()
    const [person] = people as [Person]
    const copy = join(site.folder, 'copy')
    cpSync(site.dataDir, copy, { recursive: true })
    const original = join(site.dataDir, 'snapshots')
    const filesThere = () => readdirSync(original, { recursive: true }).map(String).toSorted()
    const before = filesThere()
    const forget = (dataDir: string, ...more: string[]) =>
      site.call(['forget', '--pipeline', site.pipeline, ...more], {
        env: { JOBTIDE_DATA_DIR: dataDir },
      })
    const planned = done(await forget(copy, person.profile_id)).stdout.replaceAll(/\s+/g, ' ')
    expect(planned).toContain(`run forget with --data-dir ${site.dataDir} as well`)
    const erased = await forget(copy, person.profile_id, '--yes')
    expect(erased.exitCode).toBe(7)
    expect(erased.stdout.replaceAll(/\s+/g, ' ')).toContain(
      `${original}: 1 snapshot there names a person to be erased. It lies in a copy of this data directory`,
    )
    expect(filesThere()).toEqual(before)
    expect(filesWith(copy, [person.profile_id])).toEqual([join(copy, 'forget.pending.json')])
    // The original still publishes, and an erasure there completes the one here.
    done(await site.call(['run', site.pipeline]))
    done(await forget(site.dataDir, person.profile_id, '--yes'))
    const rest = done(await forget(copy, '--yes'))
    expect(rest.stdout).toMatch(/^completed the erasure of 1 person begun on 20/)
    expect(filesWith(site.folder, [person.profile_id])).toEqual([])
  })

  it('erases in a destination next to a file that is named journal', async () => {
    const { site, people } = await siteWithPeople()
    const [person] = people as [Person]
    const share = join(site.folder, 'share')
    const elsewhere = readFileSync(site.pipeline, 'utf8').replace(
      'to: snapshots',
      `to: ${share}/out`,
    )
    writeFileSync(site.pipeline, elsewhere)
    done(await site.call(['run', site.pipeline]))
    expect(filesWith(share, [person.profile_id]).length).toBeGreaterThan(0)
    writeFileSync(join(share, 'journal'), 'a diary')
    done(await site.call(['forget', '--pipeline', site.pipeline, person.profile_id, '--yes']))
    expect(filesWith(share, [person.profile_id])).toEqual([])
  })

  it('after a move to another machine names the destination that stayed behind; each run says that the erasure is not complete; --gone completes this erasure and the next one', async () => {
    const hook = await startWebhook()
    const notify = `notify: { webhook: { url: "${hook.url}" }, on: [stale, recovered] }`
    const lines = ['journal: { backup: ../backup }', notify]
    const { site: before, people } = await siteWithPeople({ pipelineLines: lines })
    const [one, other] = people as [Person, Person]
    const left = join(before.dataDir, 'snapshots')
    rmSync(before.dataDir, { recursive: true })
    const dataDir = join(before.folder, 'moved', 'data')
    const call = (...args: string[]) => before.call(args, { env: { JOBTIDE_DATA_DIR: dataDir } })
    done(await call('restore-journal', join(before.folder, 'backup')))
    done(await call('run', before.pipeline))
    expect(hook.got).toEqual([])

    const first = await call('forget', one.profile_id, '--yes')
    expect(first.exitCode).toBe(7)
    expect(first.stdout).toMatch(/^not erased everywhere yet: 1 person\n/)
    const flat = first.stdout.replaceAll(/\s+/g, ' ')
    expect(flat).toContain(`${left}: there is no such folder: mount it. If it is gone for good`)
    expect(flat).toContain(`add --gone ${left}`)
    // What here names her is erased.
    expect(filesWith(join(dataDir, 'snapshots'), [one.profile_id])).toEqual([])

    const night = done(await call('run', before.pipeline))
    expect(night.stdout).toMatch(/erasure +NOT COMPLETE, begun on 20\d\d-\d\d-\d\d:\n/)
    expect(night.stderr).toContain('jobtide: warning: erasure.incomplete')
    const json = JSON.parse(done(await call('run', before.pipeline, '--json')).stdout)
    expect(json.erasure).toMatchObject({
      is_complete: false,
      remaining: [expect.stringContaining(`--gone ${left}`)],
    })
    expect(hook.got.map(({ body }) => [body['kind'], body['text']])).toEqual([
      ['stale', expect.stringMatching(/^an erasure begun on 20.* is not complete$/)],
    ])

    expect(readFileSync(join(dataDir, 'metrics.prom'), 'utf8')).toContain(
      'jobtide_judgement{pipeline="test",id="erasure_pending"} 1',
    )

    const typing = await call('forget', '--yes', '--gone', `${left}s`)
    expect(typing.exitCode).toBe(2)
    expect(typing.stderr).toContain(`no snapshot was published to ${left}s`)
    const second = done(await call('forget', '--yes', '--gone', `${left}/`))
    expect(second.stdout).toMatch(/^completed the erasure of 1 person begun on 20/)
    expect(second.stdout).not.toMatch(/NOT HERE|NOT COMPLETE/)
    expect(second.stdout).toMatch(
      /^NOT ERASED in \S+data\/snapshots, which is said to be\s+gone for good/m,
    )
    const next = done(await call('forget', other.profile_id, '--yes'))
    expect(next.stdout).toMatch(/^erased: 1 person\n/)
    expect(next.stdout).toContain(`NOT ERASED in ${left}`)
    const names = [one, other].flatMap((person) => [person.profile_id, person.person_full_name])
    expect(filesWith(dataDir, names)).toEqual([])
    const after = JSON.parse(done(await call('run', before.pipeline, '--json')).stdout)
    expect(after.erasure).toBeNull()
    expect(hook.got.map(({ body }) => body['kind'])).toEqual(['stale', 'recovered'])
  })

  it('exits with 2 for an organisation, a name and 2 ids in one argument, and begins no erasure', async () => {
    const site = await openSite({ companies: 2 })
    done(await site.call(['run', site.pipeline]))
    const [two] = await site.query<{ organization: string; people: string[]; name: string }>(
      `select any_value(organization_id) as organization, list(distinct profile_id)[:2] as people,
         any_value(person_full_name) as name
       from job_change_events`,
    )
    const { organization = '', people = [], name = '' } = two ?? {}
    for (const [what, says] of [
      [organization, `${organization} is an organisation, not a person`],
      [name, `not a profile_id: "${name}"`],
      [people.join(), 'not a profile_id: "per_'],
      [`${people[0]} `, 'not a profile_id: "per_'],
    ] as const) {
      const { exitCode, stderr } = await site.call(['forget', what, '--yes'])
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining(says)])
    }
    expect(existsSync(join(site.dataDir, 'suppressed.json'))).toBe(false)
    expect(existsSync(join(site.dataDir, 'forget.pending.json'))).toBe(false)
    // A telephone number has blanks, and the name of a pipeline is in files that no erasure changes.
    const other = join(site.folder, 'every-night.yaml')
    writeFileSync(
      other,
      readFileSync(site.pipeline, 'utf8').replace('name: test', 'name: every-night'),
    )
    const { pipeline } = await site.json<{ pipeline: string }>('run', other)
    expect(pipeline).toBe('every-night')
    const erased = await site.json('forget', '+49 30 123456', pipeline, '--yes')
    expect(erased).toMatchObject({ is_complete: true, not_here: ['+49 30 123456', pipeline] })
  })

  it('erases people whose ids have a blank, a comma or an invisible character, as the service sent them', async () => {
    const people = ['per 1', 'per_2,b', 'per_3\u200b', 'per_4'] as const
    const at = new Date(Date.now() - DAY).toISOString()
    const network_url = null
    const source = sourceOf(
      people.map((profile_id, n) => ({
        event_type: 'joined' as const,
        detected_at: at,
        changed_at: at,
        detection_lag_days: 0,
        title: { current: 'Engineer', previous: null },
        person: {
          profile_id,
          handle: null,
          full_name: `Person Number${n}`,
          first_name: 'Person',
          last_name: `Number${n}`,
          headline: null,
          network_url,
        },
        organization: {
          organization_id: 'org_aaaa000000000001',
          name: 'Acme',
          slug: 'acme',
          network_url,
        },
      })),
    )
    const site = await openSite({ source })
    done(await site.call(['extract', site.pipeline]))
    done(await site.call(['load']))
    const list = join(site.folder, 'people.txt')
    writeFileSync(list, `${people[0]}\n${people[2]}\n`)
    const wrong = await site.call(['forget', 'per 5', '--from', list, '--yes'])
    expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining('"per 5"')])
    const erased = await site.json('forget', people[1], '--from', list, '--yes')
    expect(erased).toMatchObject({ is_complete: true, not_here: [] })
    const left = await site.query('select distinct profile_id from job_change_events')
    expect(left).toEqual([{ profile_id: 'per_4' }])
  })

  it('exits with 2 if no one is named, or the list is missing', async () => {
    const site = await openSite({ companies: 1 })
    const nobody = await site.call(['forget', '--yes'])
    expect([nobody.exitCode, nobody.stdout]).toEqual([2, ''])
    expect(nobody.stderr).toContain('no person to forget was named')
    const empty = await site.call(['forget', '', '--yes'])
    expect(empty.exitCode).toBe(2)
    expect(empty.stderr).toContain('an empty profile_id names no person')
    const missing = await site.call(['forget', '--from', 'people.txt'])
    expect(missing.exitCode).toBe(2)
    expect(missing.stderr).toContain('there is no such file')
    expect(existsSync(join(site.dataDir, 'suppressed.json'))).toBe(false)
    const nothing = await site.call(['export-person', 'per_nobody'])
    expect([nothing.exitCode, nothing.stdout]).toEqual([2, ''])
    expect(nothing.stderr).toContain('nothing is known of "per_nobody"')
  })
})

/** `--older-than` erases events by age; with `--json` it prints one document for programs. */
async function expectErasedByAge(site: Site): Promise<void> {
  const unknown = await site.call(['forget', 'per_nobody'])
  expect(unknown.stdout).toContain('None of it is here.')
  const old = `select count(*)::int as rows from job_change_events
    where greatest(changed_at, detected_at) < date_trunc('day', now()) - interval 200 day`
  expect((await site.query<{ rows: number }>(old))[0]?.rows).toBeGreaterThan(0)
  const forget = ['forget', '--older-than', '200']
  const plan = await site.json(...forget)
  expect(plan).toMatchObject({ is_done: false, people: 0, goes_on: false })
  const erased = await site.json<Record<string, string>>(...forget, '--yes')
  expect(erased).toMatchObject({ is_done: true, is_complete: true, rows: plan['rows'] })
  expect(erased['events_before']).toBe(plan['events_before'])
  expect(statSync(erased['path'] ?? '').isFile()).toBe(true)
  expect(await site.query(old)).toEqual([{ rows: 0 }])
}

/** `export-person` prints every row, every event as sent, and where it was published, as one JSON document. */
async function expectExported(site: Site, id: string): Promise<void> {
  const found = JSON.parse(done(await site.call(['export-person', id])).stdout)
  expect(found).toMatchObject({
    profile_id: id,
    published_to: [join(site.dataDir, 'snapshots')],
  })
  const [{ events } = { events: 0 }] = await site.query<{ events: number }>(
    `select count(*)::int as events from job_change_events where profile_id = '${id}'`,
  )
  expect(found.tables.job_change_events).toHaveLength(events)
  expect(found.tables.people).toHaveLength(1)
  expect(found.events_as_sent.length).toBeGreaterThanOrEqual(events)
  for (const { event } of found.events_as_sent) expect(event.person.profile_id).toBe(id)
}
