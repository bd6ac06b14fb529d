/**
 * A data directory whose journal is missing, or is an older copy together with its list of segments; the warehouse
 * exists.
 */

import { cpSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { done, openSite, pipelineText } from '../helpers/run-cli.ts'

it('is bought again only with --begin-again, and the month counts what was spent; other commands still read the warehouse', async () => {
  const site = await openSite()
  for (const command of [['extract', site.pipeline], ['load']]) done(await site.call(command))
  const { credits } = site.simulator.account()
  const [{ events }] = (await site.query<{ events: number }>(
    'select count(*)::int as events from job_change_events',
  )) as [{ events: number }]
  for (const name of ['journal', 'journal.seals']) {
    rmSync(join(site.dataDir, name), { recursive: true })
  }
  const warehouse = () => readFileSync(join(site.dataDir, 'jobtide.duckdb'))
  const before = warehouse()
  const pipelined = ['run', 'extract', 'backfill', 'plan', 'coverage', 'credits', 'publish'].map(
    (name) => (name === 'publish' ? [name, '--pipeline', site.pipeline] : [name, site.pipeline]),
  )
  for (const command of [
    ...pipelined,
    ['status'],
    ['load'],
    ['replay'],
    ['forget', 'per_1', '--yes'],
  ]) {
    const { exitCode, stderr } = await site.call(command)
    expect(exitCode, `${command.join(' ')}: ${stderr}`).toBe(9)
    expect(stderr).toMatch(
      new RegExp(`is gone; its warehouse holds ${events} events up to .* for ${credits} credits`),
    )
    expect(stderr).toContain('`jobtide restore-journal`')
    expect(stderr).toContain('`--begin-again`')
  }
  const { stdout, exitCode } = await site.call(['doctor', site.pipeline])
  expect([exitCode, stdout]).toEqual([
    2,
    expect.stringMatching(/^journal +problem +the journal in/m),
  ])
  expect(warehouse().equals(before)).toBe(true)
  expect(site.simulator.account().credits).toBe(credits)

  const limits = `limits: { credits_per_month: ${credits} }`
  writeFileSync(site.pipeline, pipelineText([limits]))
  for (const more of [['--begin-again'], []]) {
    expect((await site.call(['extract', site.pipeline, ...more])).exitCode).toBe(4)
  }
  expect(site.simulator.account().credits).toBe(credits)
  writeFileSync(site.pipeline, pipelineText())
  done(await site.call(['run', site.pipeline, '--no-publish']))
  expect(site.simulator.account().credits).toBe(2 * credits)
  expect(await site.query('select count(*)::int as events from job_change_events')).toEqual([
    { events },
  ])
}, 120_000)

it('that is older than its warehouse, including its list, is exit 9 before anything is bought or loaded', async () => {
  const site = await openSite()
  const parts = ['journal', 'journal.seals']
  const path = (name: string) => join(site.dataDir, name)
  const put = (from: string, to: string) => {
    for (const name of parts) {
      rmSync(path(`${name}${to}`), { recursive: true, force: true })
      cpSync(path(`${name}${from}`), path(`${name}${to}`), { recursive: true })
    }
  }
  writeFileSync(site.pipeline, pipelineText(['limits: { credits: 20 }']))
  expect((await site.call(['run', site.pipeline, '--no-publish'])).exitCode).toBe(4)
  put('', '.older')
  writeFileSync(site.pipeline, pipelineText())
  done(await site.call(['run', site.pipeline, '--no-publish']))
  const { credits } = site.simulator.account()
  put('', '.newer')
  put('.older', '')
  for (const name of ['run', 'extract', 'plan', 'credits', 'status', 'load', 'replay']) {
    const command = ['status', 'load', 'replay'].includes(name) ? [name] : [name, site.pipeline]
    const { exitCode, stderr } = await site.call(command)
    expect(exitCode, `${name}: ${stderr}`).toBe(9)
    expect(stderr).toContain('is older than its warehouse: 1 of 2 segments that were loaded')
  }
  // As in a backup taken while the second run bought.
  const newest = readdirSync(path('journal.newer'))
    .filter((name) => name.endsWith('.journal'))
    .toSorted()
    .at(-1)
  const bytes = readFileSync(join(path('journal.newer'), String(newest)))
  writeFileSync(join(path('journal'), String(newest)), bytes.subarray(0, bytes.length / 2))
  for (const command of [['replay'], ['run', site.pipeline]]) {
    const { exitCode, stderr } = await site.call(command)
    expect(exitCode, `${command[0]}: ${stderr}`).toBe(9)
    expect(stderr).toMatch(/is older than its warehouse: \d+ of \d+ pages that were loaded/)
  }
  expect(site.simulator.account().credits).toBe(credits)

  put('.newer', '')
  done(await site.call(['run', site.pipeline, '--no-publish']))
}, 120_000)

it('that is older together with its data directory buys nothing if a snapshot knows of more, until --accept-shrink', async () => {
  const site = await openSite()
  const to = join(site.folder, 'lake')
  writeFileSync(site.pipeline, pipelineText(['limits: { credits: 20 }']))
  const run = ['run', site.pipeline, '--snapshot-to', to]
  expect((await site.call(run)).exitCode).toBe(4)
  const backup = join(site.folder, 'backup')
  cpSync(site.dataDir, backup, { recursive: true })
  writeFileSync(site.pipeline, pipelineText())
  done(await site.call(run))
  const { credits } = site.simulator.account()
  rmSync(site.dataDir, { recursive: true })
  renameSync(backup, site.dataDir)
  const { exitCode, stderr } = await site.call(run)
  expect(exitCode, stderr).toBe(7)
  expect(stderr).toMatch(
    new RegExp(
      `is older than what readers of \\S+ see: it knows of 20 credits, but .* of ${credits}`,
    ),
  )
  expect(stderr).toContain('Put the newer data directory back')
  expect(site.simulator.account().credits).toBe(credits)
  done(await site.call([...run, '--accept-shrink']))
  done(await site.call(run))
  for (const name of ['journal', 'journal.seals']) {
    rmSync(join(site.dataDir, name), { recursive: true })
  }
  done(await site.call([...run, '--begin-again', '--adopt-destination']))
  done(await site.call(run))
}, 120_000)

it('whose data directory is gone: a snapshot restores the warehouse, and a new journal buys everything again into the same destination', async () => {
  const site = await openSite()
  const to = join(site.folder, 'lake')
  const run = ['run', site.pipeline, '--snapshot-to', to]
  done(await site.call(run))
  const { credits } = site.simulator.account()
  const events = () => site.query('select count(*)::int as n from job_change_events')
  const before = await events()
  rmSync(site.dataDir, { recursive: true })
  done(await site.call(['restore', to]))
  expect(await events()).toEqual(before)
  const refused = await site.call(run)
  expect([refused.exitCode, refused.stderr]).toEqual([7, expect.stringContaining('--adopt')])
  expect(site.simulator.account().credits).toBe(credits)
  done(await site.call([...run, '--begin-again', '--adopt-destination']))
  expect(site.simulator.account().credits).toBe(2 * credits)
  expect(await events()).toEqual(before)
  done(await site.call(['verify', to]))
}, 120_000)
