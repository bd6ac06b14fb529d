/** `init`: from an empty folder to the first run. */

import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { callCli, done, openSite, runCli } from '../helpers/run-cli.ts'
import { packageRoot } from '../../src/support/assets.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const FILES = ['pipelines/nightly.yaml', 'organizations.csv', '.env.example', '.gitignore']

describe('jobtide init', () => {
  it('writes 4 files in which `jobtide run nightly` reads the user’s list, readable as the umask says, and overwrites none', async () => {
    const site = await openSite({ companies: 3 })
    const folder = join(site.folder, 'jobs', 'moves')
    const init = ['init', folder, '--organizations', site.organizations]
    const { stdout } = done(await runCli(init))
    expect(stdout).toContain(`${folder} is ready for 3 organisations`)
    expect(stdout.match(/^written /gm)).toHaveLength(4)
    const own = { cwd: folder, env: { JOBTIDE_DATA_DIR: join(folder, 'data') } }
    const run = JSON.parse(
      done(await site.call(['run', 'nightly', '--json'], own)).stdout,
    ) as object
    expect(run).toMatchObject({ pipeline: 'nightly', organizations: 3, complete: true })
    expect(existsSync(join(folder, 'data', 'snapshots', 'latest.json'))).toBe(true)
    for (const name of FILES) expect(statSync(join(folder, name)).mode & 0o044).toBe(0o044)

    for (const name of FILES.slice(0, 1)) writeFileSync(join(folder, name), '# mine\n')
    const again = done(await callCli(init))
    expect(again.stdout.match(/^kept /gm)).toHaveLength(4)
    expect(readFileSync(join(folder, FILES[0] ?? ''), 'utf8')).toBe('# mine\n')
    const other = join(site.folder, 'other.csv')
    writeFileSync(other, 'org_1\n')
    const refused = await callCli(['init', folder, '--organizations', other])
    expect([refused.exitCode, refused.stderr]).toEqual([
      2,
      expect.stringContaining('organizations.csv is there already, and is another list than'),
    ])
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
  })

  it('writes nothing where the list is none, or into the folder of Jobtide itself', async () => {
    const folder = join(temporaryFolder(), 'new')
    const wrong = await callCli(['init', folder, '--organizations', '/nowhere.csv'])
    const own = await callCli(['init'], { cwd: packageRoot })
    expect([wrong.exitCode, existsSync(folder), own.exitCode]).toEqual([2, false, 2])
    expect(own.stderr).toContain('is the folder of Jobtide itself')
  })
})
