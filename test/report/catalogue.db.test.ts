/**
 * The page of the tables, read by another parser: what it shows, where its links lead, and that names are only text.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseHTML } from 'linkedom'
import { expect, it } from 'vitest'
import { cataloguePage } from '../../src/cli/models-command.ts'
import type { CatalogueTable } from '../../src/model/catalogue.ts'
import { callCli, done } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

interface Listing {
  readonly page: { readonly path: string; readonly bytes: number }
  readonly tables: readonly { readonly name: string; readonly columns: readonly object[] }[]
}

it('of the shipped models has every table and step, over 1,000 columns, and no broken link', async () => {
  const path = join(temporaryFolder(), 'catalogue.html')
  const args = ['models', '--html', path, '--data-dir', temporaryFolder()]
  const { page, tables } = JSON.parse(done(await callCli([...args, '--json'])).stdout) as Listing
  const text = readFileSync(path, 'utf8')
  expect(page).toEqual({ path, bytes: Buffer.byteLength(text) })
  const { document } = parseHTML(text)
  const ids = new Set([...document.querySelectorAll('[id]')].map(({ id }) => id))
  for (const { name, columns } of tables) {
    const rows = document.getElementById(name)?.querySelectorAll('tbody tr').length
    expect([name, rows]).toEqual([name, columns.length])
  }
  expect(document.querySelectorAll('tbody tr').length).toBeGreaterThan(1_000)
  const targets = [...document.querySelectorAll('a')].map((one) => one.getAttribute('href') ?? '')
  const lost = targets.filter((to) => to !== '#' && !(to.startsWith('#') && ids.has(to.slice(1))))
  expect(lost).toEqual([])
  const heads = [...document.querySelectorAll('nav h2')].map((one) => one.textContent)
  expect(heads).toEqual(['For every day', 'Details', 'From other endpoints', 'Steps of the build'])
  const linked = [...document.querySelectorAll('#joiners dl a')].map((one) => one.textContent)
  expect(linked).toEqual(expect.arrayContaining(['moves', 'stints', 'organization_weekly']))
  expect(document.querySelectorAll('[src], link, img, iframe')).toHaveLength(0)
})

it('replaces its own page, but neither another file nor Jobtide’s own', async () => {
  const folder = temporaryFolder()
  const path = join(folder, 'catalogue.html')
  const write = (to: string) =>
    callCli(['models', '--html', to, '--data-dir', join(folder, 'data')])
  done(await write(path))
  expect(done(await write(path)).stdout).toMatch(/catalogue\.html \([\d.]+ kB\)\n$/)
  writeFileSync(path, '<!doctype html><title>Tables of Jobtide</title>')
  const refused = await write(path)
  expect([refused.exitCode, refused.stderr]).toEqual([
    2,
    expect.stringContaining('exists and is not a page of the tables of Jobtide'),
  ])
  const own = await write(join(folder, 'data', 'journal', 'x.html'))
  expect([own.exitCode, own.stderr]).toEqual([2, expect.stringContaining('keeps its own files')])
  const both = await callCli(['models', 'joiners', '--html', path, '--data-dir', folder])
  expect([both.exitCode, both.stderr]).toEqual([2, expect.stringContaining('`#joiners`')])
})

it('shows any name, type or description as text', () => {
  const hostile = '</script><img src=x onerror="alert(1)">\'"&`<b>`'
  const table: CatalogueTable = {
    name: hostile,
    schema: hostile,
    grain: hostile,
    purpose: hostile,
    key: [hostile],
    reads: ['other'],
    readBy: [hostile],
    checks: [hostile],
    kind: 'table',
    isOwn: true,
    file: hostile,
    needs: [hostile],
    rows: null,
    columns: [{ name: hostile, type: hostile, description: hostile }],
  }
  const text = cataloguePage([{ title: hostile, about: hostile, tables: [table] }], 0)
  const { document } = parseHTML(text)
  expect(document.querySelectorAll('img, b, [onerror]')).toHaveLength(0)
  expect(document.querySelectorAll('script')).toHaveLength(1)
  expect(document.querySelector('section.table')?.id).toBe(hostile)
  expect(document.querySelector('tbody th')?.textContent).toContain(hostile)
})
