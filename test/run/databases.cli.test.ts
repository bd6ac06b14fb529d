/** `destinations:` of a pipeline and erasures, with a real PostgreSQL; where there is none, these tests are skipped. */

import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { hasPostgres, startPostgres } from '../helpers/postgres.ts'
import { done, openSite, type SiteOptions } from '../helpers/run-cli.ts'

vi.setConfig({ testTimeout: 600_000, hookTimeout: 60_000 })

let server: Awaited<ReturnType<typeof startPostgres>>
const ask = (sql: string) => server.ask(sql)

interface Ended {
  readonly exit_code: number
  readonly databases: {
    tables: { name: string; rows: number; rows_changed: number | null }[]
    problem: string | null
  }[]
}

const LINES = (schema: string) => [
  'destinations:',
  '  - to: ${JOBTIDE_PG_URL}',
  `    schema: ${schema}`,
  '    tables: [joiners, people, titles]',
]

async function site(schema: string, options: SiteOptions = {}) {
  const opened = await openSite({ companies: 1, pipelineLines: LINES(schema), ...options })
  const env = { JOBTIDE_PG_URL: server.url }
  const call = (...args: readonly string[]) => opened.call(args, { env })
  const run = async () => {
    const { exitCode, stdout } = await call('run', opened.pipeline, '--json')
    return { ...(JSON.parse(stdout) as Ended), exitCode }
  }
  return { ...opened, call, run }
}

describe.skipIf(!hasPostgres)('a database of others (skipped without a PostgreSQL)', () => {
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.remove())

  it('gets the changed tables after each publish, or with the next run if it was down; erased people go once it is reachable', async () => {
    const { run, call, query, pipeline, dataDir } = await site('nightly')
    const first = await run()
    expect(first.databases[0]?.tables.map(({ name }) => name)).toEqual([
      'joiners',
      'people',
      'titles',
    ])
    const [counted] = await query<{ rows: number }>('select count(*) as rows from joiners')
    expect(ask('select count(*) from nightly.joiners')).toBe(String(counted?.rows))
    expect((await run()).databases[0]?.tables.map((one) => one.rows_changed)).toEqual([
      null,
      null,
      null,
    ])

    server.stop()
    onTestFinished(() => server.start())
    const more = readFileSync(pipeline, 'utf8').replace('titles]', 'titles, moves]')
    writeFileSync(pipeline, more)
    const snapshots = () => readdirSync(join(dataDir, 'snapshots', 'snapshots')).length
    const before = snapshots()
    const away = await call('run', pipeline)
    expect(away.exitCode).toBe(7)
    // Coverage moves with the clock of the service, in seconds.
    expect(away.stdout).toMatch(/published +(?:snapshot \w+: no new Parquet file|nothing new)/)
    expect(away.stdout).toMatch(
      /database +not loaded: postgres:\/\/127\.0\.0\.1:\d+\/postgres cannot be reached/,
    )
    expect(snapshots()).toBe(before + 1)
    expect((await call('publish', '--pipeline', pipeline)).exitCode).toBe(7)
    server.start()
    expect((await run()).databases[0]?.tables.map((one) => one.name)).toHaveLength(4)
    expect(done(await call('publish', '--pipeline', pipeline)).stdout).toMatch(
      /database +postgres:.*nothing new/,
    )

    const [one, other] = await query<{ profile_id: string }>(
      'select profile_id from people order by 1 limit 2',
    )
    const of = (who = one) =>
      ask(`select count(*) from nightly.people where profile_id = '${who?.profile_id}'`)
    expect([of(one), of(other)]).toEqual(['1', '1'])
    expect(done(await call('forget', one?.profile_id ?? '')).stdout).toMatch(
      /postgres:.*\(schema nightly\) +would be loaded again without it/,
    )
    expect(of()).toBe('1')
    expect(done(await call('forget', one?.profile_id ?? '', '--yes')).stdout).toMatch(
      /\(schema nightly\) +loaded again: (?:joiners, )?(?:moves, )?people/,
    )
    expect([of(one), of(other)]).toEqual(['0', '1'])

    server.stop()
    const open = await call('forget', other?.profile_id ?? '', '--yes', '--json')
    expect(open.exitCode).toBe(7)
    expect((JSON.parse(open.stdout) as { remaining: string[] }).remaining.join()).toMatch(
      /schema nightly\): postgres:.* cannot be reached: .*; where it is gone for good, remove .*databases/,
    )
    server.start()
    expect(of(other)).toBe('1')
    done(await call('forget', '--yes'))
    expect(of(other)).toBe('0')
  })

  it.each([
    ['  - to: postgres://user:secret@db/x', ':7: destinations.0.to: a password does not belong'],
    ['  - to: s3://bucket/x', ':7: destinations.0.to: expected postgres://'],
    ['  - { to: "${JOBTIDE_PG_URL}", table: [moves] }', 'did you mean tables?'],
  ])('%s is refused with file and line, before anything is bought', async (line, why) => {
    const { call, pipeline } = await site('none', { pipelineLines: ['destinations:', line] })
    const { exitCode, stderr } = await call('run', pipeline)
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(why)])
    expect(stderr).not.toContain('secret')
  })
})
