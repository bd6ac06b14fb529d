/** `init`: from an empty folder to the first run. */

import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { KEY, callCli, done, openSite, runCli, type Site } from '../helpers/run-cli.ts'
import { packageRoot } from '../../src/support/assets.ts'
import { startS3Server } from '../helpers/s3-server.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const FILES = [
  'pipelines/nightly.yaml',
  'models/joiners_by_month.sql',
  'checks/months_have_joiners.sql',
  'organizations.csv',
  '.env.example',
  '.gitignore',
]

describe('jobtide init', () => {
  it('writes 6 files with the modes of the umask, overwrites none, and `jobtide run nightly` reads the user’s list', async () => {
    const site = await openSite({ companies: 3 })
    const folder = join(site.folder, 'jobs', 'moves')
    const init = ['init', folder, '--organizations', site.organizations]
    const { stdout } = done(await runCli(init))
    expect(stdout).toContain(`${folder} is ready for 3 organisations`)
    expect(stdout.match(/^written /gm)).toHaveLength(6)
    const own = { cwd: folder, env: { JOBTIDE_DATA_DIR: join(folder, 'data') } }
    const run = JSON.parse(
      done(await site.call(['run', 'nightly', '--json'], own)).stdout,
    ) as object
    expect(run).toMatchObject({ pipeline: 'nightly', organizations: 3, complete: true })
    expect(existsSync(join(folder, 'data', 'snapshots', 'latest.json'))).toBe(true)
    for (const name of FILES) expect(statSync(join(folder, name)).mode & 0o044).toBe(0o044)

    for (const name of FILES.slice(0, 1)) writeFileSync(join(folder, name), '# mine\n')
    const again = done(await callCli(init))
    expect(again.stdout.match(/^kept /gm)).toHaveLength(6)
    expect(readFileSync(join(folder, FILES[0] ?? ''), 'utf8')).toBe('# mine\n')
    const pipe = join(site.folder, 'pipe.csv')
    execFileSync('mkfifo', [pipe])
    expect(await callCli(['init', folder, '--organizations', pipe])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(`${pipe} is not a file`) as string,
    })
    const other = join(site.folder, 'other.csv')
    writeFileSync(other, 'org_1\n')
    const refused = await callCli(['init', folder, '--organizations', other])
    expect([refused.exitCode, refused.stderr]).toEqual([
      2,
      expect.stringContaining('organizations.csv already exists and is not the same list as'),
    ])
  })

  it('quotes a folder whose name has a blank for the shell, and refuses a file with exit 2', async () => {
    const cwd = temporaryFolder()
    const { stdout } = done(await callCli(['init', "two words/Ada's"], { cwd }))
    expect(stdout).toContain(String.raw`cd 'two words/Ada'\''s'`)
    writeFileSync(join(cwd, 'file'), '')
    for (const place of ['file', 'file/below']) {
      expect(await callCli(['init', place], { cwd })).toMatchObject({
        exitCode: 2,
        stderr: expect.stringMatching(/file(\/below)? is not a folder, or lies below/) as string,
      })
    }
  })

  it('names the line that it skips in a CRM list with 1 of 4 rows without an address, as do plan, doctor and each run', async () => {
    const site = await openSite({ companies: 3 })
    const [, ...urls] = readFileSync(site.organizations, 'utf8').trim().split('\n')
    const rows = urls.map((row, n) => `Customer ${n},${row}`)
    const crm = join(site.folder, 'crm.csv')
    const header = 'name,organization_id,company_url'
    writeFileSync(crm, [header, rows[0], 'No address,,', ...rows.slice(1)].join('\n'))
    const said = (list: string) => `${list}: 1 line skipped, without an id or URL: 3`
    const folder = join(site.folder, 'jobs')
    const init = ['init', folder, '--organizations', crm]
    const { stdout } = done(await callCli(init))
    expect(stdout).toContain('is ready for 3 organisations')
    expect(stdout).toContain(`skipped  ${said('crm.csv')}`)
    const nightly = join(folder, 'pipelines', 'nightly.yaml')
    const run = done(await site.call(['extract', nightly]))
    expect(run.stderr).toContain(`warning: lines_skipped: ${said('organizations.csv')}`)
    const doctor = done(await site.call(['doctor', nightly])).stdout.replaceAll(/\s+/g, ' ')
    expect(doctor).toContain(said('organizations.csv'))
    for (const command of [init, ['plan', nightly], ['extract', nightly]]) {
      const skipped = (await site.json(...command))['skipped_lines']
      expect(skipped).toEqual([{ list: expect.any(String) as string, count: 1, lines: [3] }])
    }
  })

  it('without a list writes two example lines, which every command refuses by line until they are replaced', async () => {
    const folder = temporaryFolder()
    done(await callCli(['init'], { cwd: folder }))
    done(await callCli(['init'], { cwd: folder }))
    const plan = await callCli(['plan', 'nightly'], { cwd: folder })
    expect([plan.exitCode, plan.stderr]).toEqual([
      2,
      expect.stringContaining('organizations.csv:3: an example line: https://'),
    ])
    writeFileSync(join(folder, 'organizations.csv'), 'acme\n')
    done(await callCli(['plan', 'nightly'], { cwd: folder }))
    // Each commented-out setting is valid once its `#` is removed.
    const pipeline = join(folder, 'pipelines', 'nightly.yaml')
    const lines = readFileSync(pipeline, 'utf8').replaceAll(/^( *)#(?! ?[A-Z])(?= *\w+:)/gm, '$1')
    expect(lines).toMatch(/^notify:\n {2}webhook:[^]*\n {2}email:[^]*\n {2}heartbeat:/m)
    expect(lines).toMatch(/^ {2}credits_per_month: 20000\n[^]*^ {2}requests_per_second: 5$/m)
    writeFileSync(pipeline, lines)
    done(await callCli(['plan', 'nightly'], { cwd: folder }))
  })

  it('writes nothing if the list is invalid, or if the folder is Jobtide’s own', async () => {
    const folder = join(temporaryFolder(), 'new')
    const wrong = await callCli(['init', folder, '--organizations', '/nowhere.csv'])
    const own = await callCli(['init'], { cwd: packageRoot })
    expect([wrong.exitCode, existsSync(folder), own.exitCode]).toEqual([2, false, 2])
    expect(own.stderr).toContain('is the folder of Jobtide itself')
  })
})

/** A new folder with the list of a site and a `.env` of these lines. */
async function folderWith(site: Site, lines: readonly string[], mode = 0o600) {
  const folder = join(site.folder, 'jobs')
  done(await callCli(['init', folder, '--organizations', site.organizations]))
  const file = join(folder, '.env')
  writeFileSync(file, lines.join('\n'))
  chmodSync(file, mode)
  return { folder, file, pipeline: join(folder, 'pipelines', 'nightly.yaml') }
}

describe('a file .env', () => {
  it('provides address, key and the variables of S3, from the folder of the pipeline and the current folder', async () => {
    const site = await openSite({ companies: 2 })
    const s3 = await startS3Server()
    onTestFinished(() => s3.close())
    const { folder, pipeline } = await folderWith(site, [
      '# the service',
      `export JOBTIDE_BASE_URL=${site.simulator.url}`,
      `JOBTIDE_API_KEY="${KEY}"`,
      `JOBTIDE_S3_ENDPOINT=${s3.endpoint}`,
      'AWS_ACCESS_KEY_ID=made-up',
      'AWS_SECRET_ACCESS_KEY=made-up-secret',
      'AWS_REGION=eu-test-1',
      'JOBTIDE_DATA_DIR=kept',
      'PATH=/nowhere',
    ])
    const to = ['--snapshot-to', `s3://${s3.bucket}/moves`]
    const nobody = { AWS_EC2_METADATA_DISABLED: 'true' }
    const { stderr } = done(await runCli(['run', 'nightly', ...to], { cwd: folder, env: nobody }))
    expect(stderr).not.toContain('env_file')
    expect([...s3.objects().keys()]).toContain('moves/latest.json')
    expect(s3.log().map(({ region }) => region)).toContain('eu-test-1')
    const before = site.simulator.account().requests
    done(await callCli(['extract', pipeline], { cwd: temporaryFolder() }))
    expect(site.simulator.account().requests).toBe(before + 1)
    expect(existsSync(join(folder, 'kept', 'jobtide.duckdb'))).toBe(true)
  })

  it('loses to the environment, warns if others may read a key, and is refused if they may write it', async () => {
    const site = await openSite({ companies: 1 })
    const lines = ['JOBTIDE_BASE_URL=https://elsewhere.example', `JOBTIDE_API_KEY=${KEY}`, 'A=1']
    const { folder, file } = await folderWith(site, lines, 0o644)
    const env = { JOBTIDE_BASE_URL: site.simulator.url }
    const extract = (more: object = {}) =>
      callCli(['extract', 'nightly'], { cwd: folder, env: { ...env, ...more } })
    const { stderr } = done(await extract())
    // The key and the file with the key are one setting.
    const keyFile = join(site.folder, 'other.key')
    writeFileSync(keyFile, 'a-key-that-is-not-known\n', { mode: 0o600 })
    const ofFile = await extract({ JOBTIDE_API_KEY_FILE: keyFile })
    expect([ofFile.exitCode, ofFile.stderr]).toEqual([3, expect.stringContaining('refused')])
    expect(stderr).toContain(`${file} holds a key and others may read it`)
    expect(stderr).not.toContain(KEY)
    chmodSync(file, 0o602)
    const refused = await extract()
    expect([refused.exitCode, refused.stderr]).toEqual([
      2,
      expect.stringMatching(/\.env may be written by every account.*\n.*chmod 600/),
    ])
    expect((await callCli(['query', `select '${KEY}'`], { cwd: folder })).exitCode).toBe(2)
    chmodSync(file, 0o600)
    const told = await callCli(['query', `select '${KEY}'`], { cwd: folder })
    expect(told.stderr).toContain('an API key cannot be an argument')
  })
})
