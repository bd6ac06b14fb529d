/**
 * Installs the result of `npm pack` into an empty folder as a user does, with each supported Node.js. npm asks its
 * registry for anything missing in its cache.
 */

import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { packageRoot } from '../src/support/assets.ts'

vi.setConfig({ testTimeout: 600_000, hookTimeout: 300_000 })

const run = promisify(execFile)
const { dependencies, version: packed } = JSON.parse(
  readFileSync(join(packageRoot, 'package.json'), 'utf8'),
) as { version: string; dependencies: Record<string, string> }

describe.each(['20.19', '22', '24'])('with Node.js %s, the package', (wanted) => {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-package-'))
  let node = ''
  beforeAll(async () => {
    const name = `node-${process.platform}-${process.arch}@${wanted}`
    await run('npm', ['install', '--silent', '--no-save', '--prefix', folder, name])
    const bins = readdirSync(join(folder, 'node_modules')).filter((one) => one.startsWith('node-'))
    node = join(folder, 'node_modules', bins[0] ?? '', 'bin')
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  it('installs without a clone, without a warning, with the versions of the lock file, and runs the demo from an empty folder', async () => {
    const env = { ...process.env, PATH: `${node}:${process.env['PATH'] ?? ''}` }
    // `npm pack` would build first.
    await run('node', ['shrinkwrap.mjs'], { cwd: packageRoot })
    const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
    const { stdout } = await run('npm', pack, { cwd: packageRoot })
    await run('node', ['shrinkwrap.mjs', '--remove'], { cwd: packageRoot })
    const [made] = JSON.parse(stdout) as { filename: string; size: number }[]
    expect(made?.size).toBeLessThan(4_500_000)

    const prefix = join(folder, 'prefix')
    const install = ['install', '--global', '--prefix', prefix, '--prefer-offline', '--no-audit']
    const installed = await run('npm', [...install, join(folder, made?.filename ?? '')], {
      cwd: folder,
      env,
    })
    expect(installed.stderr).not.toMatch(/install-scripts|deprecated|EBADENGINE/)
    const home = join(prefix, 'lib', 'node_modules', 'jobtide')
    expect(
      ['src', 'test', join('docs', 'images')].filter((name) => existsSync(join(home, name))),
    ).toEqual([])
    const versions = Object.keys(dependencies).map((name) => {
      const text = readFileSync(join(home, 'node_modules', name, 'package.json'), 'utf8')
      return [name, (JSON.parse(text) as { version: string }).version]
    })
    expect(Object.fromEntries(versions)).toEqual(dependencies)
    expect(existsSync(join(home, 'node_modules', 'vitest'))).toBe(false)

    const jobtide = join(prefix, 'bin', 'jobtide')
    const alone = { PATH: `${node}:${process.env['PATH'] ?? ''}` }
    const version = await run(jobtide, ['--version'], { cwd: folder, env: alone })
    expect(version.stdout).toMatch(
      new RegExp(`^${packed} \\(Node\\.js ${wanted}\\.[\\d.]+, DuckDB \\d+\\.\\d+\\.\\d+\\)\\n$`),
    )
    const demo = await run(jobtide, ['demo', '--json'], { cwd: folder, env: alone })
    expect(JSON.parse(demo.stdout)).toMatchObject({ nightly: { complete: true } })
  })
})
