/** A run does not succeed with a list that is not the user's own, or in which the service knows no organisation. */

import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { worldAround } from '../../src/cli/simulator-commands.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { packageRoot } from '../../src/support/assets.ts'
import { realClock } from '../../src/support/clock.ts'
import { KEY, callCli, done, openSite, type Site } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

function inEmptyFolder(args: readonly string[], baseUrl: string | undefined, cwd: string) {
  const env = { JOBTIDE_BASE_URL: baseUrl, JOBTIDE_API_KEY: KEY }
  return callCli([...args, '--log-level', 'silent'], { cwd, env })
}

describe('a pipeline or list that ships with Jobtide', () => {
  it.each([
    ['run', 'nightly'],
    ['backfill'],
    ['plan', 'nightly'],
    ['plan', 'nightly', '--sample', '2'],
    ['run', 'weekly', '--organizations', 'mine.csv'],
  ])('is refused by `%s %s` for a service elsewhere: exit 2, and how to begin', async (...args) => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'mine.csv'), 'org_1')
    const result = await inEmptyFolder(args.filter(Boolean), 'https://api.example.com', folder)
    expect([result.exitCode, result.stdout]).toEqual([2, ''])
    expect(result.stderr).toContain("is Jobtide's own example, for the organisations of the")
    expect(result.stderr).toContain('→ Run `jobtide init`: ')
  })

  it('is not taken by a `backfill` without a name in a folder with other pipelines, which it names', async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'pipelines'))
    for (const name of ['watch', 'other']) {
      writeFileSync(join(folder, 'pipelines', `${name}.yaml`), `name: ${name}\n`)
    }
    const result = await inEmptyFolder(['backfill'], 'http://127.0.0.1:9', folder)
    expect([result.exitCode, result.stdout]).toEqual([2, ''])
    expect(result.stderr).toContain('no pipeline was named, and ')
    expect(result.stderr).toContain('→ Name a pipeline: other, watch. Nothing was sent.')
  })

  it('is accepted by the simulator, by a plan without an address, and anywhere as a copy in the user’s folder', async () => {
    const folder = temporaryFolder()
    const source = worldAround(realClock.now(), 7, 60)
    const simulator = await startSimulator({ source, clock: realClock, apiKeys: [KEY] })
    onTestFinished(() => simulator.close())
    done(await inEmptyFolder(['extract', 'nightly', '--days', '3'], simulator.url, folder))
    done(await inEmptyFolder(['plan', 'nightly'], undefined, folder))

    for (const name of ['pipelines', 'config']) {
      mkdirSync(join(folder, name))
      cpSync(join(packageRoot, name), join(folder, name), { recursive: true })
    }
    done(await inEmptyFolder(['plan', 'nightly'], 'https://api.example.com', folder))
  })
})

/** Extracts with a list of these names, as JSON. */
async function extract(site: Site, names: readonly string[], ...options: string[]) {
  writeFileSync(site.organizations, names.join('\n'))
  const result = await site.call(['extract', site.pipeline, '--json', ...options])
  return { ...result, document: JSON.parse(result.stdout) as Record<string, unknown> }
}

describe('a list without one organisation that the service knows', () => {
  const UNTRACKED = [1, 2, 3, 4, 5].map((n) => `https://network.example/company/nobody-${n}`)

  it('is not called done by the run or by `status`, but exit 2', async () => {
    const site = await openSite({ companies: 1 })
    writeFileSync(site.organizations, UNTRACKED.join('\n'))
    const run = await site.call(['run', site.pipeline])
    expect(run.stdout).toMatch(/^test: run \S+ ended with exit 2 in /)
    const { stdout } = await site.call(['status'])
    expect(stdout).toMatch(/^20\S+ \S+ +test +exit 2 +/m)
  })

  it('exits with 2 if all 5 were refused now, and again if all 5 were refused before', async () => {
    const site = await openSite()
    const first = await extract(site, UNTRACKED)
    expect(first.exitCode).toBe(2)
    expect(first.document).toMatchObject({ exit_code: 2, extract: { credits: 0 } })
    expect(first.stderr).toMatch(
      /none of 5 organisations in \S+organizations\.csv is tracked by the service: \S+nobody-1 \(.*nobody-3 \([^)]*\) and 2 more/,
    )
    const { requests } = site.simulator.account()
    const again = await extract(site, UNTRACKED)
    expect([again.exitCode, site.simulator.account().requests]).toEqual([2, requests])
    expect(again.stderr).toContain('none of 5 organisations in ')
    expect(again.stderr).toContain('Those refused are tried again after 7 days')
    expect(again.stderr).not.toContain('A domain such as')
    const domains = await extract(await openSite(), ['acme.com', 'https://globex.example/'])
    expect([domains.exitCode, domains.stderr]).toEqual([
      2,
      expect.stringContaining('A domain such as acme.com names no organisation'),
    ])
  })

  it('exits with 2 if a year of 1 organisation or 30 days of 3 were read without an event', async () => {
    const site = await openSite()
    const year = await extract(site, ['org_nobody1'], '--days', '365')
    expect(year.exitCode).toBe(2)
    expect(year.stderr).toMatch(
      /none of 1 organisation in \S+ ever sent an event\n {2}→ Check the ids/,
    )
    const month = await extract(site, ['org_nobody2', 'org_nobody3', 'org_nobody4'], '--days', '30')
    expect([month.exitCode, month.document['complete']]).toEqual([2, true])
    const mixed = await extract(site, ['org_nobody1', 'https://network.example/company/nobody-1'])
    expect(mixed.exitCode).toBe(2)
    expect(mixed.stderr).toContain('ever sent an event, 1 of them refused by the service')
  })

  it('publishes nothing for 2 unknown ids, and all there is once another list has brought events', async () => {
    const site = await openSite({ companies: 2 })
    const lists = [readFileSync(site.organizations, 'utf8'), 'org_nobody1\norg_nobody2']
    const run = async (list = '') => {
      writeFileSync(site.organizations, list)
      const { exitCode, stdout } = await site.call(['run', site.pipeline, '--json'])
      const { publish } = JSON.parse(stdout) as { publish: object | null }
      return [exitCode, publish === null]
    }
    expect(await run(lists[1])).toEqual([2, true])
    expect(existsSync(join(site.dataDir, 'snapshots', 'latest.json'))).toBe(false)
    expect(await run(lists[0])).toEqual([0, false])
    expect(await run(lists[1])).toEqual([2, false])
  })

  it('exits with 0 and a warning if 1 day of 3 was read, and without one if a 4th had an event', async () => {
    const site = await openSite()
    const quiet = ['org_nobody1', 'org_nobody2', 'org_nobody3']
    const day = await extract(site, quiet, '--days', '1')
    expect(day.exitCode).toBe(0)
    expect(day.document['warning']).toMatch(/^none of 3 organisations in \S+ ever sent an event$/)
    const text = await site.call(['extract', site.pipeline, '--days', '1'])
    expect(text.stdout).toMatch(/no events +none of 3 organisations .*\n +→ Check the ids/)
    const known = site.simulator.organizations()[0]?.organization_id ?? ''
    const four = await extract(site, [...quiet, known])
    expect([four.exitCode, four.document['warning']]).toEqual([0, null])
  })
})

describe('a list that lost many lines', () => {
  /** A CRM list in which the last `lost` of these organisations have lost their address. */
  function crm(site: Site, lost: number): void {
    const [, ...urls] = readFileSync(site.organizations, 'utf8').trim().split('\n')
    const rows = urls.map((row, n) => `Customer ${n},${n < urls.length - lost ? row : ','}`)
    const text = ['name,organization_id,company_url', ...rows].join('\n')
    writeFileSync(join(site.folder, 'crm.csv'), text)
  }

  it('of 100 lines is refused by `init` and `plan` if 11 name nothing, and accepted with 10', async () => {
    const site = await openSite({ companies: 100 })
    const list = join(site.folder, 'crm.csv')
    crm(site, 11)
    const folder = join(site.folder, 'jobs')
    const init = await callCli(['init', folder, '--organizations', list])
    const reason =
      'crm.csv: 11 lines skipped, without an id or URL: 91, 92, 93, 94, 95, 96, 97, 98, 99, 100 and 1 more; 89 lines are left'
    expect([init.exitCode, init.stderr]).toEqual([2, expect.stringContaining(reason)])
    expect(existsSync(folder)).toBe(false)
    const plan = await site.call(['plan', site.pipeline, '--organizations', list])
    expect([plan.exitCode, plan.stderr]).toEqual([2, expect.stringContaining(reason)])
    crm(site, 10)
    done(await callCli(['init', folder, '--organizations', list]))
    done(await site.call(['plan', site.pipeline, '--organizations', list]))
  })

  it('does not stop a night that asks for 19 of 20 organisations; one that would ask for 8 exits with 2, and `status` says why', async () => {
    const site = await openSite({ companies: 30 })
    const list = join(site.folder, 'crm.csv')
    const extract = () => site.call(['extract', site.pipeline, '--organizations', list])
    crm(site, 10)
    const first = done(await extract())
    expect(first.stderr).toContain('crm.csv: 10 lines skipped')
    crm(site, 11)
    done(await extract())
    const { requests } = site.simulator.account()
    crm(site, 22)
    const lost = await extract()
    expect([lost.exitCode, site.simulator.account().requests]).toEqual([2, requests])
    expect(lost.stderr).toContain('crm.csv names 8 organisations, the last run asked for 19: ')
    writeFileSync(site.organizations, readFileSync(list))
    const status = await site.call(['status', site.pipeline, '--json'])
    const { judgements } = JSON.parse(status.stdout) as { judgements: object[] }
    expect(judgements).toContainEqual(expect.objectContaining({ id: 'list_damaged' }))
  })

  it('from which 10 of 20 organisations were removed on purpose is accepted', async () => {
    const site = await openSite({ companies: 20 })
    const lines = readFileSync(site.organizations, 'utf8').trim().split('\n')
    done(await site.call(['extract', site.pipeline]))
    writeFileSync(site.organizations, lines.slice(0, 11).join('\n'))
    done(await site.call(['extract', site.pipeline]))
  })
})
