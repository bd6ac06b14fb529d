/** What `npm pack` makes, installed into an empty folder as a user does. npm asks its registry for what its cache lacks. */

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, vi } from 'vitest'
import { packageRoot } from '../src/support/assets.ts'
import { temporaryFolder } from './helpers/temporary-folder.ts'

vi.setConfig({ testTimeout: 300_000 })

const run = promisify(execFile)

it('the package installs without a clone, without a warning, and runs the demo from an empty folder', async () => {
  const folder = temporaryFolder()
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const { stdout } = await run('npm', pack, { cwd: packageRoot })
  const [made] = JSON.parse(stdout) as { filename: string; size: number; files: object[] }[]
  expect(made?.size).toBeLessThan(4_000_000)

  const prefix = join(folder, 'prefix')
  const install = ['install', '--global', '--prefix', prefix, '--prefer-offline', '--no-audit']
  const installed = await run('npm', [...install, join(folder, made?.filename ?? '')], {
    cwd: folder,
  })
  expect(installed.stderr).not.toMatch(/install-scripts|deprecated|EBADENGINE/)
  const home = join(prefix, 'lib', 'node_modules', 'jobtide')
  expect(
    ['src', 'test', join('docs', 'images')].filter((name) => existsSync(join(home, name))),
  ).toEqual([])

  const jobtide = join(prefix, 'bin', 'jobtide')
  const env = { PATH: process.env['PATH'] }
  const version = await run(jobtide, ['--version'], { cwd: folder, env })
  expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  const demo = await run(jobtide, ['demo', '--json'], { cwd: folder, env })
  expect(JSON.parse(demo.stdout)).toMatchObject({ nightly: { complete: true } })
})
