/** The demo as a newcomer runs it: twice, next to another one, and after a kill. */

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openWarehouse } from '../../src/warehouse/warehouse.ts'
import { done, runCli, startCli } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

async function emptyWarehouse(dataDir: string): Promise<void> {
  const warehouse = await openWarehouse({ path: join(dataDir, 'jobtide.duckdb'), mode: 'write' })
  warehouse.close()
}

describe('demo', () => {
  it('shows everything on 27 lines of 80 characters within 60 s, twice, and empties only its own folder', async () => {
    const folder = temporaryFolder()
    const first = done(await runCli(['demo'], { cwd: folder }))
    expect(first.tookMs).toBeLessThan(60_000)
    const lines = first.stdout.trimEnd().split('\n')
    expect(lines.length).toBeLessThanOrEqual(27)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(first.stdout).toMatch(/14 months back +\d+ +[\d,]+ +[\d,]+ +[\d,]+/)
    expect(first.stdout).toMatch(/after a week +\d+ /)
    expect(first.stdout).toMatch(/^open +data\/demo\/analyst\.duckdb /m)
    expect(first.stdout).toMatch(/^ {2}jobtide report --data-dir data\/demo$/m)

    const again = JSON.parse(done(await runCli(['demo', '--json'], { cwd: folder })).stdout) as {
      backfill: { extract: { credits: number } }
      nightly: { extract: { credits: number }; load: { inserted: number } }
      service: { credits: number }
      joined: { count: number }
      left: { count: number }
      promoted: { count: number }
      organizations: { headcount: number; seen: number; open_roles: number }[]
    }
    const { backfill, nightly, service, joined, left, promoted } = again
    expect(backfill.extract.credits + nightly.extract.credits).toBeLessThan(service.credits)
    const shown = [...first.stdout.matchAll(/^(?:14|after|their) [a-z ]+?[\d,]+ +([\d,]+)/gm)]
    const credits = shown.map(([, figure = '']) => Number(figure.replaceAll(',', '')))
    expect(credits).toHaveLength(3)
    const said = done(
      await runCli(['credits', '--json', '--data-dir', 'data/demo'], { cwd: folder }),
    )
    const { total } = JSON.parse(said.stdout) as { total: { credits: number } }
    expect(credits.reduce((sum, one) => sum + one)).toBe(total.credits)
    expect(again.organizations).toHaveLength(4)
    for (const { headcount, seen, open_roles: open } of again.organizations) {
      expect(headcount).toBeGreaterThanOrEqual(seen)
      expect(open).toBeGreaterThan(0)
    }
    expect(nightly.load.inserted).toBeGreaterThan(0)

    // The page of the last week has what the demo announced, and there are rates.
    const ask = async (...args: readonly string[]) =>
      JSON.parse(
        done(await runCli([...args, '--data-dir', 'data/demo'], { cwd: folder })).stdout,
      ) as unknown
    const { changes } = (await ask('report', '--json')) as { changes: { changes: number }[] }
    // A correction of what was known before can count in the one alone.
    for (const [at, { count }] of [joined, left, promoted].entries()) {
      expect(Math.abs((changes[at]?.changes ?? 0) - count)).toBeLessThanOrEqual(2)
    }
    const rates = (await ask('query', '--recipe', 'attrition', '--format', 'json')) as unknown[]
    expect(rates.length).toBeGreaterThan(5)

    const foreign = join(folder, 'mine')
    await emptyWarehouse(join(foreign, 'demo'))
    const refused = await runCli(['demo', '--data-dir', foreign], { cwd: folder })
    expect(refused.exitCode).toBe(2)
    expect(refused.stderr).toMatch(/was not made by the demo\n {2}→ .*--data-dir/)
    expect(readdirSync(join(foreign, 'demo'))).toEqual(['jobtide.duckdb', 'locks'])
  })

  it('exits with 8 while another demo runs, which continues; killed after its first file, it can be repeated', async () => {
    const folder = temporaryFolder()
    const demo = join(folder, 'data', 'demo')
    const first = startCli(['demo'], { cwd: folder })
    onTestFinished(() => void first.process.kill('SIGKILL'))
    while (!existsSync(demo) || readdirSync(demo).every((name) => name === 'locks')) {
      await pause(1)
    }
    expect(readdirSync(demo)).toContain('made-by-jobtide-demo')
    while (!existsSync(join(demo, 'journal'))) await pause(5)
    const second = await runCli(['demo'], { cwd: folder })
    expect([second.exitCode, second.stdout]).toEqual([8, ''])
    expect(second.stderr).toMatch(/in use by `jobtide demo` .*\n {2}→ Wait until it ends/)
    expect(existsSync(join(demo, 'journal'))).toBe(true)
    expect(first.process.exitCode).toBe(null)

    first.process.kill('SIGKILL')
    await first.ended
    const third = startCli(['demo'], { cwd: folder })
    onTestFinished(() => void third.process.kill('SIGKILL'))
    while (!third.stderr().includes('backfilled from a simulator')) {
      expect(third.process.exitCode, third.stderr()).toBe(null)
      await pause(5)
    }
  })
})
