/**
 * On the first SIGTERM, SIGHUP or SIGINT, requests in flight end, the run is closed as interrupted, and the next one
 * continues.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { packageRoot } from '../../src/support/assets.ts'
import { CLI, openSite, runCli, type Site } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

async function pagesAsked(site: Site, pages: number): Promise<void> {
  while (site.simulator.account().requests < pages) await pause(10)
}

/** Charged pages, in order; those past the end are free. */
function chargedPages({ simulator }: Site): number[] {
  return simulator
    .account()
    .log.filter(({ credits_used: charged }) => charged > 0)
    .map(({ page }) => page ?? 0)
}

describe('a signal', () => {
  // A terminal that closes sends SIGHUP twice.
  it.each([
    ['SIGTERM', 143, 1],
    ['SIGHUP', 129, 2],
  ] as const)(
    '%s during the extraction is exit %i within 10 s, and no page is bought twice',
    async (signal, code, times) => {
      const site = await openSite({ faults: [{ slow: { delay_ms: 60 }, times: 'always' }] })
      const running = site.start(['run', site.pipeline, '--json'])
      await pagesAsked(site, 4)
      const signalledAt = performance.now()
      for (let sent = 0; sent < times; sent += 1) {
        running.process.kill(signal)
        await pause(20)
      }
      const ended = await running.ended

      expect(ended.exitCode).toBe(code)
      expect(performance.now() - signalledAt).toBeLessThan(10_000)
      expect(ended.stderr).toContain(
        `jobtide: stopped by ${signal}\n  → Run the same command again`,
      )
      expect(JSON.parse(ended.stdout)).toMatchObject({ error: { exit_code: code } })
      const [run] = await site.query<object>('select outcome, exit_code, resumed from ops.runs')
      expect(run).toEqual({ outcome: 'interrupted', exit_code: code, resumed: 0 })

      site.simulator.setFaults([])
      expect(await site.json('run', site.pipeline)).toMatchObject({ resumed: true, complete: true })
      const bought = chargedPages(site).toSorted((a, b) => a - b)
      expect(bought).toEqual(bought.map((_, index) => index + 1))
      const [ledger] = await site.query<object>(
        'select sum(credits_used)::int as credits from ops.pages',
      )
      expect(ledger).toEqual({ credits: site.simulator.account().credits })
    },
  )

  it.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)(
    '%s during the publish leaves no half of a snapshot; the next run publishes, and buys nothing',
    async (signal, code) => {
      const site = await openSite()
      const snapshots = join(site.dataDir, 'snapshots')
      const running = site.start(['run', site.pipeline])
      while (!existsSync(join(snapshots, 'tables'))) await pause(5)
      running.process.kill(signal)
      const ended = await running.ended
      expect(ended.exitCode, ended.stderr).toBe(code)
      expect(existsSync(join(snapshots, 'latest.json'))).toBe(false)
      const status = await site.call(['status', site.pipeline])
      expect(status.stdout).toMatch(
        /It was stopped on purpose\.\s`jobtide run \S+`\s+continues\s+it/,
      )

      const { credits } = site.simulator.account()
      const next = await site.json('run', site.pipeline)
      expect(next).toMatchObject({ resumed: true, exit_code: 0, publish: { unchanged: false } })
      expect(site.simulator.account().credits).toBe(credits)
      expect(await site.json('verify', snapshots)).toMatchObject({ is_proved: true })
    },
  )

  it('a second SIGINT ends the process at once, and the next run still continues', async () => {
    const site = await openSite({ faults: [{ slow: { delay_ms: 8_000 }, page: 3 }] })
    const running = site.start(['run', site.pipeline])
    await pagesAsked(site, 3)
    running.process.kill('SIGINT')
    await pause(200)
    const signalledAt = performance.now()
    running.process.kill('SIGINT')
    expect((await running.ended).exitCode).toBe(130)
    expect(performance.now() - signalledAt).toBeLessThan(1_000)

    expect(await site.json('run', site.pipeline)).toMatchObject({ resumed: true, complete: true })
    const pages = chargedPages(site)
    expect(pages.filter((page) => page === 3)).toHaveLength(2)
    expect(new Set(pages).size).toBe(pages.length - 1)
  })
})

describe('an older Node.js', () => {
  it.each(['16.20.2', '20.18.3'])('%s exits with 2 and one sentence', async (version) => {
    const folder = temporaryFolder()
    const pretend = join(folder, 'pretend.cjs')
    const text = `Object.defineProperty(process.versions, 'node', { value: '${version}' })`
    writeFileSync(pretend, text)
    const ended = await runCli(['--version'], { env: { NODE_OPTIONS: `--require ${pretend}` } })
    expect([ended.exitCode, ended.stdout]).toEqual([2, ''])
    expect(ended.stderr).toMatch(
      new RegExp(
        `^jobtide: Node\\.js ${version} is too old: Jobtide needs 20\\.19 or newer\n  → .*\n$`,
      ),
    )
  })

  it('matches package.json, in a file that imports nothing before the check', () => {
    const text = readFileSync(CLI, 'utf8')
    expect(text).not.toMatch(/^import |^export (?!\{\})|await|\?\.|\?\?/m)
    const { engines } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
      engines: { node: string }
    }
    const [, major, minor] = /^>=(\d+)\.(\d+)\.0$/.exec(engines.node) ?? []
    // The bundler drops redundant brackets.
    const bare = text.replaceAll(/[()]/g, '')
    expect(bare).toContain(`major < ${major} || major === ${major} && minor < ${minor}`)
  })
})
