import { chmodSync, chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { questionSha256 } from '../../src/plan/plan.ts'
import { EXIT } from '../../src/support/errors.ts'
import { absoluteDestination, readJob } from '../../src/run/job.ts'
import { pipelineText } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'

const DATA_DIR = '/srv/jobtide'

/** A pipeline file named `test` with a list of two organisations next to it. */
function files(lines: readonly string[] = [], list = 'org_a\norg_b\n') {
  const folder = temporaryFolder()
  const pipeline = join(folder, 'test.yaml')
  writeFileSync(pipeline, pipelineText(lines))
  writeFileSync(join(folder, 'organizations.csv'), list)
  return { folder, pipeline }
}

describe('readJob', () => {
  it('names each place where it looked for a pipeline once', async () => {
    const places = join(process.cwd(), 'pipelines', 'nope.yaml')
    await expect(readJob('nope', {}, DATA_DIR)).rejects.toMatchObject({
      message: 'there is no pipeline "nope"',
      hint: `Looked for ${places}. Name a pipeline there, or give the path of a YAML file; \`jobtide init\` writes one.`,
    })
  })

  it.each([
    ['nigthly', 'nightly'],
    ['Weekli', 'weekly'],
    ['./back-fill.yaml', null],
    ['nope', null],
  ])('proposes a similar name for %s: %s', async (typed, meant) => {
    const error = await readJob(typed, {}, DATA_DIR).catch((thrown: unknown) => thrown)
    const found = /^Did you mean (\w+)\? /.exec((error as { hint: string }).hint)?.[1] ?? null
    expect(found).toBe(meant)
  })

  it.skipIf(process.getuid?.() !== 0)(
    'refuses a file that another account, or every account, may write, even for root; accepts one of root or of a group',
    async () => {
      const { pipeline } = files()
      const read = () => readJob(pipeline, {}, DATA_DIR)
      chownSync(pipeline, 12_345, 0)
      await expect(read()).rejects.toMatchObject({
        exitCode: 2,
        message: `${pipeline} belongs to another account (uid 12345), which could send what is published elsewhere`,
        hint: expect.stringContaining(`chown 0 ${pipeline}`) as unknown,
      })
      chownSync(pipeline, 0, 12_345)
      chmodSync(pipeline, 0o666)
      await expect(read()).rejects.toThrow('may be written by every account')
      chmodSync(pipeline, 0o664)
      expect((await read()).pipeline).toBe('test')
    },
  )

  it.each([
    ['JOBTIDE_API_KEY', 'webhook: { url: "https://h.example/${JOBTIDE_API_KEY}" }'],
    ['AWS_SECRET_ACCESS_KEY', 'heartbeat: "https://h.example/?k=${AWS_SECRET_ACCESS_KEY}"'],
    ['JOBTIDE_SMTP_URL', 'heartbeat: "${JOBTIDE_SMTP_URL}"'],
    ['DATABASE_URL', 'heartbeat: "https://h.example/${HOOK_URL}${DATABASE_URL}"'],
  ])('keeps %s out of every message: a variable there is an address', async (name, line) => {
    const { pipeline } = files([`notify: { ${line} }`])
    await expect(readJob(pipeline, {}, DATA_DIR)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(
        `\${${name}} is not allowed here: name a variable that ends in _URL`,
      ) as unknown,
    })
  })

  it('reads everything from the pipeline file, with absolute paths', async () => {
    const limits = 'limits: { credits: 70, requests_per_second: 2, concurrency: 3, max_wait: 2m }'
    const { pipeline, folder } = files(['event_types: [left, joined]', limits])
    expect(await readJob(pipeline, {}, DATA_DIR)).toEqual({
      pipeline: 'test',
      question: {
        concurrency: 3,
        pipeline: 'test',
        organizations: [
          { by: 'id', value: 'org_a' },
          { by: 'id', value: 'org_b' },
        ],
        eventTypes: ['joined', 'left'],
        window: 'since-last',
        initialWindow: 'all',
        overlapHours: 6,
      },
      databases: [],
      collection: null,
      organizationsFile: join(folder, 'organizations.csv'),
      isBundled: false,
      duplicates: 0,
      skipped: [],
      creditsLimit: 70,
      creditsPerMonth: null,
      requestsPerSecond: 2,
      concurrency: 3,
      maxWaitMs: 120_000,
      snapshot: {
        current: true,
        to: '/srv/jobtide/snapshots',
        keep: { last: 30, daily: 0, weekly: 0, monthly: 0 },
        s3: {},
      },
      backups: [],
      publishing: { adoptDestination: false, acceptShrink: false },
      retentionDays: null,
      watch: [],
      schedule: null,
      notify: null,
      acceptLoss: false,
      beginAgain: false,
      forgetPause: false,
    })
  })

  it.each([
    [[], { snapshotTo: 's3://bucket/lake/' }, ['s3://bucket/lake/journal']],
    [[], {}, []],
    [['journal: { backup: ../elsewhere }'], {}, ['/srv/elsewhere']],
    [['journal: { backup: false }'], { snapshotTo: 's3://bucket/lake' }, []],
    [['journal: { backup: ../elsewhere }'], { journalBackup: 's3://safe/j' }, ['s3://safe/j']],
    [[], { snapshotTo: 's3://bucket/lake', journalBackup: false as const }, []],
  ])('backs the journal up with %j and %j to %j', async (lines, overrides, places) => {
    const { pipeline } = files(lines)
    const { backups } = await readJob(pipeline, overrides, DATA_DIR)
    expect(backups.map(({ place }) => place)).toEqual(places)
  })

  it.each(['journal', '.', 'https://example.com/x', 's3://'])(
    'refuses to back the journal up to %s',
    async (place) => {
      const { pipeline } = files([`journal: { backup: ${place} }`])
      await expect(readJob(pipeline, {}, DATA_DIR)).rejects.toMatchObject({ exitCode: 2 })
    },
  )

  it('gives each of the 7 overrides precedence over the file', async () => {
    const { folder, pipeline } = files(['limits: { credits: 70, requests_per_second: 2 }'])
    const organizations = join(folder, 'other.txt')
    writeFileSync(organizations, 'org_c\norg_c\n')
    const job = await readJob(
      pipeline,
      {
        organizations,
        days: 30,
        credits: 20,
        requestsPerSecond: 9,
        concurrency: 7,
        snapshotTo: 's3://bucket/p',
      },
      DATA_DIR,
    )
    expect(job.question).toMatchObject({ organizations: [{ value: 'org_c' }], window: 30 })
    expect(job).toMatchObject({ duplicates: 1, creditsLimit: 20, requestsPerSecond: 9 })
    expect(job).toMatchObject({ concurrency: 7, snapshot: { to: 's3://bucket/p' } })
    expect(await readJob(pipeline, { publish: false }, DATA_DIR)).toMatchObject({
      snapshot: null,
    })
  })

  it.each([
    'scratch',
    'scratch.forget-7',
    'published',
    'reports',
    'reports/mine',
    'journal/mine',
    'journal.salvage',
    'locks',
    'certificates',
    'outbox/x',
    'demo/snapshots',
    'jobtide.duckdb',
    'analyst.duckdb.new',
  ])('refuses %s as the place of snapshots, because Jobtide uses it', async (to) => {
    const { pipeline } = files()
    const snapshotTo = join(DATA_DIR, to)
    await expect(readJob(pipeline, { snapshotTo }, DATA_DIR)).rejects.toMatchObject({
      exitCode: EXIT.usage,
      message: expect.stringContaining(`snapshots cannot go to ${snapshotTo}`),
    })
  })

  it('uses the first of 2 organisations with a limit, which is another question', async () => {
    const { pipeline } = files(['limits: { credits_per_month: 400 }'])
    const part = await readJob(pipeline, { limit: 1 }, DATA_DIR)
    expect(part.question.organizations).toEqual([{ by: 'id', value: 'org_a' }])
    expect(part.creditsPerMonth).toBe(400)
    const whole = await readJob(pipeline, {}, DATA_DIR)
    expect(questionSha256(part.question)).not.toBe(questionSha256(whole.question))
  })

  it('reads a list from Parquet by either column name, in any case', async () => {
    const { folder, pipeline } = files()
    const organizations = join(folder, 'list.parquet')
    const engine = await memoryWarehouse()
    await engine.run(
      `copy (select * from (values (1, 'org_a', null), (2, null, 'https://n.example/company/b'), (3, null, null))
        as t(n, "Organization ID", company_url)) to '${organizations}' (format parquet)`,
    )
    const job = await readJob(pipeline, { organizations }, DATA_DIR)
    expect(job.question.organizations).toEqual([
      { by: 'id', value: 'org_a' },
      { by: 'url', value: 'https://n.example/company/b' },
    ])
    expect(job.skipped).toEqual([{ list: 'list.parquet', lines: [4], used: 2 }])
    const twice = `select '/company/a' as "LinkedIn URL", 'https://a.example' as "Company URL"`
    await engine.run(`copy (${twice}) to '${organizations}' (format parquet)`)
    await expect(readJob(pipeline, { organizations }, DATA_DIR)).rejects.toThrow(
      'two columns company_url: LinkedIn URL, Company URL',
    )
    await engine.run(`copy (select 1 as id) to '${organizations}' (format parquet)`)
    engine.close()
    const wrong = readJob(pipeline, { organizations }, DATA_DIR)
    await expect(wrong).rejects.toThrow(/no column organization_id or company_url; found: id/)
    writeFileSync(organizations, 'not parquet')
    await expect(readJob(pipeline, { organizations }, DATA_DIR)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('list.parquet: not a list of organisations') as unknown,
    })
  })
})

it('names skipped lines of a list, of a watch-list, and of a list that is collected', async () => {
  const list = 'name,company_url\nA,a\nB,\n'
  const { folder, pipeline } = files(
    ['watch: [{ name: x, organizations: organizations.csv }]'],
    list,
  )
  const skipped = { list: 'organizations.csv', lines: [3], used: 1 }
  expect((await readJob(pipeline, {}, DATA_DIR)).skipped).toEqual([skipped, skipped])
  const collect = join(folder, 'collect.yaml')
  const lines = ['name: c', 'kind: collect', 'endpoint: company-profile', 'for_each: urls.csv']
  writeFileSync(collect, lines.join('\n'))
  const rows = ['name,url', 'A,https://n.example/company/a', 'B,', '', 'C,']
  writeFileSync(join(folder, 'urls.csv'), rows.join('\n'))
  const job = await readJob(collect, {}, DATA_DIR)
  expect(job.skipped).toEqual([{ list: 'urls.csv', lines: [3, 5], used: 1 }])
})

describe('absoluteDestination', () => {
  it.each([
    ['s3://bucket/prefix', 's3://bucket/prefix'],
    ['/there', '/there'],
    ['below/here', '/srv/jobtide/below/here'],
    ['C:drive', '/srv/jobtide/C:drive'],
  ])('%s is %s', (text, destination) => {
    expect(absoluteDestination(text, DATA_DIR)).toBe(destination)
  })

  it.each([
    ['gs://bucket', 'a folder or to s3://bucket/prefix'],
    ['S3://bucket', 'a folder or to s3://bucket/prefix'],
    ['s3:/bucket', 'a folder or to s3://bucket/prefix'],
    ['~/snapshots', 'a folder or to s3://bucket/prefix, not to ~/snapshots'],
    ['${HOME}/snapshots', 'a folder or to s3://bucket/prefix, not to ${HOME}/snapshots'],
    ['s3://Bad_Bucket', 'S3 address'],
    ['s3://bucket/../elsewhere', 'S3 address'],
  ])('%s is refused with exit 2 before anything is bought', (text, why) => {
    expect(() => absoluteDestination(text, DATA_DIR)).toThrow(
      expect.objectContaining({ exitCode: 2, message: expect.stringContaining(why) }),
    )
  })
})
