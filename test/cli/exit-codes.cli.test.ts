/** Commands reach each exit code of the table in docs/operations.md. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { packageRoot } from '../../src/support/assets.ts'
import { listSegments } from '../../src/journal/reader.ts'
import { openWarehouse, withWarehouse } from '../../src/warehouse/warehouse.ts'
import { installedWith } from '../helpers/installed.ts'
import { done, openSite, type CliResult, type Site } from '../helpers/run-cli.ts'

const extract = (site: Site, ...more: readonly string[]) =>
  site.call(['extract', site.pipeline, ...more])

async function stoppedBy(signal: NodeJS.Signals): Promise<CliResult> {
  const slow = [{ slow: { delay_ms: 1_500 }, times: 'always' as const }]
  const site = await openSite({ companies: 1, faults: slow })
  const running = site.start(['run', site.pipeline])
  while (site.simulator.account().requests === 0) await new Promise((go) => setTimeout(go, 20))
  running.process.kill(signal)
  return running.ended
}

const WAYS: Readonly<Record<string, () => Promise<CliResult>>> = {
  0: async () => extract(await openSite({ companies: 1 })),
  1: async () => {
    const site = await openSite({ companies: 1 })
    done(await extract(site))
    done(await site.call(['load']))
    const cli = installedWith({ 'sql/reports/status.sql': 'select no_such_column' })
    return site.run(['status'], { cli })
  },
  2: async () => (await openSite({ companies: 1 })).call(['run', 'nowhere']),
  3: async () => {
    const site = await openSite({ companies: 1 })
    return site.call(['run', site.pipeline], { env: { JOBTIDE_API_KEY: 'another-key' } })
  },
  4: async () => extract(await openSite({ companies: 3 }), '--credits', '10'),
  5: async () => {
    const headers = { 'Retry-After': '7200' }
    const away = [{ status: 503, headers, times: 'always' as const }]
    return extract(await openSite({ companies: 1, faults: away }))
  },
  6: async () => {
    const site = await openSite({ companies: 1 })
    const cli = installedWith({ 'sql/checks/none_joins.sql': 'select event_key from joiners' })
    return site.run(['run', site.pipeline], { cli })
  },
  7: async () => {
    const site = await openSite({ companies: 1 })
    const args = ['run', site.pipeline, '--snapshot-to', 's3://bucket/people']
    const keys = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_REGION: 'eu-west-1' }
    return site.run(args, { env: { JOBTIDE_S3_ENDPOINT: 'http://127.0.0.1:1', ...keys } })
  },
  8: async () => {
    const site = await openSite({ companies: 1 })
    done(await extract(site))
    const path = join(site.dataDir, 'jobtide.duckdb')
    await withWarehouse({ path, mode: 'write' }, () => Promise.resolve())
    const reader = await openWarehouse({ path, mode: 'read' })
    return site.run(['load']).finally(() => reader.close())
  },
  9: async () => {
    const site = await openSite({ companies: 1 })
    done(await extract(site))
    const journal = join(site.dataDir, 'journal')
    const segment = join(journal, listSegments(journal)[0] ?? '')
    const bytes = readFileSync(segment)
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
    writeFileSync(segment, bytes)
    return site.call(['verify'])
  },
  10: async () => {
    const site = await openSite({ companies: 1 })
    await site.call(['extract', site.pipeline], { env: { JOBTIDE_API_KEY: 'another-key' } })
    return site.call(['status', site.pipeline])
  },
  129: () => stoppedBy('SIGHUP'),
  130: () => stoppedBy('SIGINT'),
  143: () => stoppedBy('SIGTERM'),
}

const TABLE = /^\| exit \| means .*\n.*\n(?<rows>(?:\|.*\n)+)/m
const { rows = '' } =
  TABLE.exec(readFileSync(join(packageRoot, 'docs', 'operations.md'), 'utf8'))?.groups ?? {}
const codes = [...rows.matchAll(/^\| (\d+) \| (.+?) \|/gm)].map(([, code = '', means = '']) => ({
  code: Number(code),
  means,
}))

it('the table has 14 exit codes', () => {
  expect(codes.map(({ code }) => String(code))).toEqual(Object.keys(WAYS))
})

it.each(codes)('exit $code: $means', async ({ code }) => {
  const { exitCode, stderr } = (await WAYS[code]?.()) ?? {}
  expect(exitCode, stderr).toBe(code)
})
