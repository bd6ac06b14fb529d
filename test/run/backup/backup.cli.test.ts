/**
 * The backup of the journal: its content, its restore, and which places are refused. Erasures and nights on S3 take
 * half a minute each, and are skipped outside `npm run test:soak`.
 */

import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openInbox } from '../../../src/inbox/inbox.ts'
import { openJournal } from '../../../src/journal/journal.ts'
import { readHistory } from '../../../src/journal/read-history.ts'
import { realClock } from '../../../src/support/clock.ts'
import { DAY } from '../../../src/support/units.ts'
import { done, openSite, type Site, type SiteOptions } from '../../helpers/run-cli.ts'
import { startS3Server } from '../../helpers/s3-server.ts'
import { IS_SOAK } from '../../helpers/tier.ts'

vi.setConfig({ testTimeout: 180_000 })

/** A site whose pipeline publishes nothing and backs the journal up to a folder next to the data directory. */
async function openBackedUp(options: SiteOptions = {}) {
  const lines = [...(options.pipelineLines ?? []), 'journal: { backup: ../backup }']
  const site = await openSite({ ...options, pipelineLines: lines })
  const place = join(site.folder, 'backup')
  const run = () => site.json('run', site.pipeline, '--no-publish')
  const extract = () => site.json('extract', site.pipeline)
  return { site, place, run, extract, segments: () => readdirSync(join(place, 'segments')) }
}

const segmentsOf = (site: Site) =>
  readdirSync(join(site.dataDir, 'journal')).filter((name) => name.endsWith('.journal'))

const listOf = (place: string) =>
  JSON.parse(readFileSync(join(place, 'backup.json'), 'utf8')) as Record<string, unknown>

/** Puts the data directory of before an extraction back after it. */
async function goBack(site: Site, extract: () => Promise<unknown>): Promise<void> {
  cpSync(site.dataDir, `${site.dataDir}.old`, { recursive: true })
  await extract()
  rmSync(site.dataDir, { recursive: true })
  cpSync(`${site.dataDir}.old`, site.dataDir, { recursive: true })
}

/** The rows of every table that models make, as one hash each. */
async function tablesOf(site: Site): Promise<unknown[]> {
  const tables = await site.query<{ name: string }>(
    `select schema_name || '.' || table_name as name from duckdb_tables()
     where schema_name in ('main', 'core') order by 1`,
  )
  expect(tables.length).toBeGreaterThan(20)
  const hashes = tables.map(
    ({ name }) =>
      `select '${name}' as name, count(*)::int as held, sum(hash(one))::varchar as hashed from ${name} as one`,
  )
  return site.query(`${hashes.join(' union all ')} order by name`)
}

describe.each(IS_SOAK ? ['a folder', 'S3'] : ['a folder'])('a backup in %s', (where) => {
  it('restores a deleted data directory for 0 credits with the same tables; the next run asks only for newer events, and no page is bought twice', async () => {
    const s3 = where === 'S3' ? await startS3Server() : null
    onTestFinished(() => s3?.close())
    const backup = s3 === null ? '../backup' : `s3://${s3.bucket}/lake/journal`
    const site = await openSite({ pipelineLines: [`journal: { backup: "${backup}" }`] })
    const place = s3 === null ? join(site.folder, 'backup') : backup
    if (s3 !== null) {
      vi.stubEnv('AWS_ACCESS_KEY_ID', s3.accessKeyId)
      vi.stubEnv('AWS_SECRET_ACCESS_KEY', s3.secretAccessKey)
    }
    const env = s3 === null ? {} : { JOBTIDE_S3_ENDPOINT: s3.endpoint }
    const json = async (...args: string[]) =>
      JSON.parse(done(await site.call([...args, '--json'], { env })).stdout) as object
    const run = () => json('run', site.pipeline, '--no-publish')
    await run()
    const tables = await tablesOf(site)
    const before = site.simulator.account()
    rmSync(site.dataDir, { recursive: true })
    // Left by a killed restore of another backup.
    for (const name of ['locks', 'journal.restoring']) {
      mkdirSync(join(site.dataDir, name), { recursive: true })
    }
    const foreign = join(site.dataDir, 'journal.restoring', '01ARZ3NDEKTSV4RRFFQ69G5FAV.journal')
    writeFileSync(foreign, 'of another journal')
    const restored = await json('restore-journal', place)
    expect(restored).toMatchObject({ segments: 2, lost: 0, credits: before.credits })
    expect(segmentsOf(site)).toHaveLength(2)
    expect(await tablesOf(site)).toEqual(tables)
    expect(site.simulator.account()).toEqual(before)
    site.advance(DAY)
    const { extract } = (await run()) as { extract: { pages: number; credits: number } }
    const { credits, log } = site.simulator.account()
    expect(credits).toBe(before.credits + extract.credits)
    const windows = log
      .slice(before.log.length)
      .map(({ request }) => Number(request?.['days_ago'] ?? 365))
    expect([windows.length > 0, windows.filter((days) => days > 2)]).toEqual([true, []])
    expect(await json('status')).toMatchObject({
      credits,
      backups: [{ place, segments: 4, missing: 0, problem: null }],
    })
  })
})

describe('a backup in a folder', () => {
  it('holds each segment once, and is not written again if the journal has no new one', async () => {
    const { site, place, run, segments } = await openBackedUp()
    await run()
    expect(segments()).toHaveLength(2)
    const { id } = listOf(place)
    await site.json('build')
    await site.json('load')
    expect(listOf(place)['id']).toBe(id)
    await run()
    expect(segments()).toHaveLength(segmentsOf(site).length)
  })

  it('is proved by verify, which names a missing segment and a changed one', async () => {
    const { site, place, extract, segments } = await openBackedUp()
    await extract()
    expect(await site.json('verify')).toMatchObject({
      is_proved: true,
      backups: [{ place, problems: [] }],
    })
    const [first = '', second = ''] = segments().toSorted()
    rmSync(join(place, 'segments', first))
    truncateSync(join(place, 'segments', second), 100)
    const { exitCode, stdout } = await site.call(['verify'])
    expect(exitCode).toBe(9)
    const said = stdout.replaceAll('\n', ' ')
    expect(said).toContain(`${first} is not there`)
    expect(said).toContain(`${second} is not as it was written`)
  })

  it.skipIf(!IS_SOAK)(
    'is made by extract and by find as well, and `false` switches it off',
    async () => {
      const { site, segments } = await openBackedUp()
      await site.json('extract', site.pipeline)
      expect(segments()).toHaveLength(2)
      done(await site.call(['suggest', 'company', 'a', '--json']))
      expect(segments()).toHaveLength(segmentsOf(site).length)
      const off = await openSite()
      const env = { JOBTIDE_JOURNAL_BACKUP: 'false' }
      done(await off.call(['run', off.pipeline, '--no-publish'], { env }))
      expect(existsSync(join(off.dataDir, 'journal.backup.json'))).toBe(false)
    },
  )

  it('is noted in the journal by a run and by a sample, so that it is known where journal.backup.json is lost', async () => {
    const { site, place, extract } = await openBackedUp({ companies: 60 })
    await site.json('plan', site.pipeline, '--sample', '2')
    await extract()
    const { runs } = readHistory(openJournal(join(site.dataDir, 'journal'), realClock))
    const noted = [...runs.values()].map(({ started }) => [started.command, started.backups])
    expect(noted).toEqual([['plan', [{ place, s3: {} }]]])
  })

  it('inside the data directory works, with a warning in text and log; doctor calls it a problem, and status shows it', async () => {
    const site = await openSite({ pipelineLines: ['journal: { backup: bk }'] })
    const place = join(site.dataDir, 'bk')
    const before = await site.call(['doctor', site.pipeline])
    expect([before.exitCode, before.stdout.replaceAll(/\s+/g, ' ')]).toEqual([
      2,
      expect.stringContaining('is inside the data directory, and would be lost with it → In'),
    ])
    const warning = `backup.inside: ${place} is inside the data directory`
    const run = await site.call(['extract', site.pipeline])
    expect([run.exitCode, run.stderr]).toEqual([0, expect.stringContaining(warning)])
    expect(listOf(place)).toHaveProperty('segments')
    const logged = await site.call(['extract', site.pipeline, '--log-level', 'warn'])
    expect(logged.stderr).toContain('"msg":"backup.inside"')
    const status = await site.call(['status', site.pipeline])
    expect(status.stdout).toContain('it is inside the data directory')
    const moved = { JOBTIDE_JOURNAL_BACKUP: join(site.folder, 'elsewhere') }
    expect(done(await site.call(['extract', site.pipeline], { env: moved })).stderr).not.toContain(
      'backup.inside',
    )
  })

  it('that fails ends the run with 7 once all else is done; the next run makes it', async () => {
    const { site, place, run, segments } = await openBackedUp()
    writeFileSync(place, 'a file, not a folder')
    const args = ['run', site.pipeline, '--no-publish', '--log-level', 'info']
    const { exitCode, stderr } = await site.call(args)
    expect(exitCode).toBe(7)
    const lines = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string })
    const reason = expect.stringContaining('the journal was not backed up') as string
    expect(lines.filter(({ msg }) => msg === 'stage_failed')).toMatchObject([
      { stage: 'backup', reason },
    ])
    expect(lines.at(-1)).toMatchObject({ msg: 'failed', exit_code: 7 })
    expect(await site.query('select count(*) > 100 as loaded from stints')).toEqual([
      { loaded: true },
    ])
    const doctor = await site.json<{ findings: { check: string; state: string }[] }>('doctor')
    expect(doctor.findings).toContainEqual(
      expect.objectContaining({ check: 'backup', state: 'warning' }),
    )
    const spent = site.simulator.account().credits
    rmSync(place)
    await run()
    expect(site.simulator.account().credits - spent).toBeLessThanOrEqual(10)
    expect(segments()).toHaveLength(segmentsOf(site).length)
  })
})

describe('a backup that cannot be continued', () => {
  it('of another journal: exit 2 before anything is sent', async () => {
    const { place, extract } = await openBackedUp()
    await extract()
    const other = await openSite()
    const env = { JOBTIDE_JOURNAL_BACKUP: place }
    const { exitCode, stderr } = await other.call(['extract', other.pipeline], { env })
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('backup of another journal')])
    expect(other.simulator.account().requests).toBe(0)
  })

  it('that knows more than an older copy of the data directory: exit 9 before anything is sent', async () => {
    const { site, place, extract } = await openBackedUp()
    await extract()
    await goBack(site, extract)
    const { requests } = site.simulator.account()
    const { exitCode, stderr } = await site.call(['extract', site.pipeline])
    expect([exitCode, stderr]).toEqual([
      9,
      expect.stringContaining('which has 2 segments that are not here'),
    ])
    expect(stderr).toContain('jobtide restore-journal')
    expect(site.simulator.account().requests).toBe(requests)
    expect(listOf(place)['segments']).toHaveLength(4)
  })

  it('that knows more than an older copy: forget, publish, and a load of a delivery exit with 9 and change nothing; load, build and replay work', async () => {
    const { site, place, run, extract } = await openBackedUp({ companies: 2 })
    await run()
    await goBack(site, extract)
    const id = await somebody(site)
    for (const command of ['load', 'build', 'replay']) await site.json(command)
    await openInbox(join(site.dataDir, 'inbox'), realClock).keep('{}')
    const before = filesBelow(site.dataDir)
    const published = join(site.folder, 'published')
    for (const command of [
      ['forget', id, '--yes'],
      ['publish', '--pipeline', site.pipeline, '--snapshot-to', published],
      ['load'],
    ]) {
      const { exitCode, stderr } = await site.call(command)
      expect([command[0], exitCode, stderr]).toEqual([
        command[0],
        9,
        expect.stringContaining('the journal is older than its backup'),
      ])
      expect(filesBelow(site.dataDir)).toEqual(before)
      expect(existsSync(published)).toBe(false)
    }
    expect(listOf(place)['segments']).toHaveLength(4)
  })

  it.each([
    ['has no list', (place: string) => rmSync(join(place, 'backup.json')), 2, 'there is no backup'],
    [
      'has a list that was cut',
      (place: string) => truncateSync(join(place, 'backup.json'), 200),
      9,
      'is not the list of a journal backup, or is damaged',
    ],
    [
      'was made by a newer version',
      (place: string) => rewriteList(place, { format_version: 2 }),
      2,
      'was written by a newer Jobtide: its format is 2, and this one reads 1',
    ],
    [
      'lacks a segment',
      (place: string) => rmSync(join(place, 'segments', firstOf(place))),
      9,
      'the backup of the journal is damaged',
    ],
    [
      'has a segment with a wrong byte',
      (place: string) => flipByte(join(place, 'segments', firstOf(place))),
      9,
      'is not as it was written',
    ],
  ])('%s: restore-journal says so and leaves no journal', async (_, damage, code, message) => {
    const { site, place, extract } = await openBackedUp({ companies: 2 })
    await extract()
    damage(place)
    rmSync(site.dataDir, { recursive: true })
    const { exitCode, stderr } = await site.call(['restore-journal', place])
    expect([exitCode, stderr]).toEqual([code, expect.stringContaining(message)])
    expect(existsSync(join(site.dataDir, 'journal'))).toBe(false)
    expect(existsSync(join(site.dataDir, 'jobtide.duckdb'))).toBe(false)
  })

  it('next to an existing journal: restore-journal refuses, and changes nothing', async () => {
    const { site, place, extract } = await openBackedUp({ companies: 2 })
    await extract()
    const { exitCode, stderr } = await site.call(['restore-journal', place])
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining('so there is nothing to restore'),
    ])
  })
})

describe('a journal that lost a segment', () => {
  it.each([
    ['a segment', (data: string) => rmSync(join(data, 'journal', firstSegment(data)))],
    ['the middle of one', (data: string) => flipByte(join(data, 'journal', firstSegment(data)))],
    ['its list of seals', (data: string) => rmSync(join(data, 'journal.seals'))],
  ])('gets %s back from the backup, and keeps everything newer', async (_, damage) => {
    const { site, place, extract } = await openBackedUp({ companies: 2 })
    await extract()
    damage(site.dataDir)
    expect((await site.call(['replay'])).exitCode).toBe(9)
    const { credits } = site.simulator.account()
    const restored = await site.json('restore-journal', place)
    expect(restored).toMatchObject({ credits, lost: 0 })
    expect(await site.json('verify')).toMatchObject({ is_proved: true })
    await extract()
    expect(await site.json('verify')).toMatchObject({ is_proved: true })
  })

  it('is not repaired from the backup of another journal: exit 2, and nothing is changed', async () => {
    const { site, extract } = await openBackedUp({ companies: 2 })
    const other = await openBackedUp({ companies: 2 })
    await extract()
    await other.extract()
    rmSync(join(site.dataDir, 'journal', firstSegment(site.dataDir)))
    const before = filesBelow(site.dataDir)
    const { exitCode, stderr } = await site.call(['restore-journal', other.place])
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringMatching(
        /backup of another journal \(\w+; the one here is .*Nothing was changed/s,
      ),
    ])
    expect(filesBelow(site.dataDir)).toEqual(before)
  })

  it('is restored from an older backup, with a report of what is lost; nothing is bought while the newer one knows more', async () => {
    const { site, place, extract } = await openBackedUp({ companies: 2 })
    await extract()
    cpSync(place, `${place}.old`, { recursive: true })
    site.advance(DAY)
    await extract()
    rmSync(join(site.dataDir, 'journal'), { recursive: true })
    const { exitCode, stdout } = await site.call(['restore-journal', `${place}.old`])
    expect([exitCode, stdout]).toEqual([
      0,
      expect.stringContaining('2 segments sealed after the backup are lost'),
    ])
    // While the newer backup exists, nothing is bought on the older state.
    const { credits } = site.simulator.account()
    const refused = await site.call(['extract', site.pipeline])
    expect([refused.exitCode, refused.stderr]).toEqual([
      9,
      expect.stringContaining('which has 2 segments that are not here'),
    ])
    expect(site.simulator.account().credits).toBe(credits)
  })
})

describe.skipIf(!IS_SOAK)('an erasure', () => {
  it('rewrites the backup: no segment contains the person, and a restored journal keeps her out', async () => {
    const { site, place, run, segments } = await openBackedUp()
    await run()
    const id = await somebody(site)
    const before = segments()
    const forgotten = await site.json('forget', id, '--yes')
    expect(forgotten).toMatchObject({ is_complete: true })
    expect(segments().filter((name) => before.includes(name)).length).toBeLessThan(before.length)
    const held = (listOf(place)['segments'] as object[]).length
    expect(segments()).toHaveLength(held)
    expect(readFileSync(join(place, 'backup.json'), 'utf8')).not.toContain(id)
    rmSync(site.dataDir, { recursive: true })
    await site.json('restore-journal', place)
    await run()
    expect(
      await site.query(
        `select count(*)::int as n from job_change_events where profile_id = '${id}'`,
      ),
    ).toEqual([{ n: 0 }])
    expect(await site.json('forget', id)).toMatchObject({ segments: [] })
  })

  it('says what is left if the backup is out of reach, and finishes with the next run', async () => {
    const { site, place, run } = await openBackedUp()
    await run()
    const id = await somebody(site)
    cpSync(place, `${place}.away`, { recursive: true })
    rmSync(place, { recursive: true })
    writeFileSync(place, 'a file, not a folder')
    const partly = await site.call(['forget', id, '--yes', '--json'])
    expect(JSON.parse(partly.stdout)).toMatchObject({ is_complete: false })
    rmSync(place)
    cpSync(`${place}.away`, place, { recursive: true })
    await run()
    expect(existsSync(join(site.dataDir, 'forget.pending.json'))).toBe(false)
    expect(readFileSync(join(place, 'backup.json'), 'utf8')).not.toContain(id)
  })
})

describe.skipIf(!IS_SOAK)('an erasure where journal.backup.json', () => {
  it.each<[string, (path: string) => void]>([
    ['is damaged', (path) => truncateSync(path, 40)],
    ['is deleted', (path) => rmSync(path)],
  ])('%s finds both places in the journal, and erases the person from both', async (_, lose) => {
    const { site, place, run } = await openBackedUp()
    await run()
    const env = { JOBTIDE_JOURNAL_BACKUP: '../second' }
    done(await site.call(['run', site.pipeline, '--no-publish'], { env }))
    const second = join(site.folder, 'second')
    const before = [place, second].map((one) => readdirSync(join(one, 'segments')))
    const id = await somebody(site)
    lose(join(site.dataDir, 'journal.backup.json'))
    expect(await site.json('forget', id, '--yes')).toMatchObject({ is_complete: true })
    for (const [index, one] of [place, second].entries()) {
      const held = (listOf(one)['segments'] as object[]).length
      expect(readdirSync(join(one, 'segments'))).toHaveLength(held)
      expect(readdirSync(join(one, 'segments'))).not.toEqual(
        expect.arrayContaining(before[index] ?? []),
      )
    }
  })
})

describe.skipIf(!IS_SOAK)('a backup from before an erasure', () => {
  it('that is out of reach is reported, and loses the person with the first backup after it is back', async () => {
    const { site, place, run, segments } = await openBackedUp()
    await run()
    const id = await somebody(site)
    renameSync(place, `${place}.away`)
    // As if its disk were not mounted.
    mkdirSync(place)
    const partly = await site.call(['forget', id, '--yes', '--json'])
    expect([partly.exitCode, JSON.parse(partly.stdout)]).toMatchObject([
      7,
      { remaining: [expect.stringMatching(/backup: the backup is not there: mount its disk/)] },
    ])
    await run()
    rmSync(place, { recursive: true })
    renameSync(`${place}.away`, place)
    const before = segments()
    await run()
    const held = (listOf(place)['segments'] as object[]).length
    expect(segments()).toHaveLength(held)
    expect(segments()).not.toEqual(expect.arrayContaining(before))
    expect(await site.json('verify')).toMatchObject({ is_proved: true })
  })
})

describe('a backup on S3', () => {
  it.skipIf(!IS_SOAK)(
    'is below the destination by default, takes 4 writes and 5 reads in a night without news, none if nothing was sealed, and loses old object versions in an erasure',
    async () => {
      const s3 = await startS3Server()
      onTestFinished(() => s3.close())
      const to = `s3://${s3.bucket}/lake`
      const site = await openSite()
      vi.stubEnv('AWS_ACCESS_KEY_ID', s3.accessKeyId)
      vi.stubEnv('AWS_SECRET_ACCESS_KEY', s3.secretAccessKey)
      const env = { JOBTIDE_S3_ENDPOINT: s3.endpoint }
      const call = async (...args: string[]) => done(await site.call(args, { env })).stdout
      const isWrite = ({ operation }: { operation: string }) =>
        /^(?:Put|Delete|Comp)/.test(operation)
      const ofBackup = () => s3.log().filter(({ key }) => key.startsWith('lake/journal/'))
      const night = () => call('run', site.pipeline, '--snapshot-to', to)
      await night()
      await call('run', site.pipeline, '--snapshot-to', to, '--no-publish')
      const [before, written] = [ofBackup().length, s3.log().filter(isWrite).length]
      await night()
      const asked = ofBackup().slice(before)
      expect([asked.filter(isWrite).length, asked.length]).toEqual([4, 9])
      // A publish writes 3 times if nothing changed, 7 times if only coverage did.
      expect(s3.log().filter(isWrite).length - written).toBeLessThanOrEqual(7 + 4)
      const { length } = s3.log()
      await call('build')
      await call('load')
      expect(s3.log()).toHaveLength(length)
      const keys = () => [...s3.objects().keys()].filter((key) => key.startsWith('lake/journal/'))
      expect(keys().filter((key) => key.includes('/segments/'))).toHaveLength(
        segmentsOf(site).length,
      )

      const restored = join(site.folder, 'restored')
      const text = await call('restore-journal', `${to}/journal`, '--data-dir', restored)
      expect(text).toContain('0 credits')
      copyFileSync(site.organizations, join(site.folder, 'list.csv'))
      const [person] = await site.query<{ profile_id: string }>(
        'select profile_id from people limit 1',
      )
      await call('forget', person?.profile_id ?? '', '--yes')
      for (const key of keys()) expect(s3.versionsOf(key)).toHaveLength(1)
    },
  )
})

async function somebody(site: Site): Promise<string> {
  const sql = 'select profile_id from people order by 1 limit 1'
  const [person] = await site.query<{ profile_id: string }>(sql)
  return person?.profile_id ?? ''
}

const firstSegment = (data: string) =>
  readdirSync(join(data, 'journal')).find((name) => name.endsWith('.journal')) ?? ''

/** Except for locks and metrics. */
const filesBelow = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !/^(?:locks|metrics\.prom)/.test(name))
    .map((name) => [name, statSync(join(folder, name)).mtimeMs])

const firstOf = (place: string) => readdirSync(join(place, 'segments')).toSorted()[0] ?? ''

function rewriteList(place: string, change: object): void {
  writeFileSync(join(place, 'backup.json'), JSON.stringify({ ...listOf(place), ...change }))
}

function flipByte(path: string): void {
  const bytes = readFileSync(path)
  bytes[200] = (bytes[200] ?? 0) ^ 1
  writeFileSync(path, bytes)
}
