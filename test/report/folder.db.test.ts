/** A report by organisation: an index, a page for each organisation, and what happens to an existing folder. */

import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseHTML } from 'linkedom'
import { beforeAll, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { writeReportFolder } from '../../src/report/write-folder.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { insertEvents, memoryWarehouse } from '../helpers/warehouse.ts'

const NOW = Date.UTC(2024, 4, 20)
const WINDOW = { from: Date.UTC(2024, 3, 1), to: NOW }
const HOSTILE = '<img src=x onerror=alert(1)>"\'&'
const ORGANIZATIONS = 1_003

let warehouse: Warehouse
beforeAll(async () => {
  warehouse = await memoryWarehouse()
  const joinings = Array.from({ length: ORGANIZATIONS }, (_, at) => ({
    profile_id: `person ${at}`,
    person_full_name: at === 0 ? HOSTILE : `Person ${at}`,
    title_current: 'VP Engineering',
    organization_id: at === 0 ? '../../Elsewhere' : `org_${at}`,
    organization_name: at === 0 ? HOSTILE : `Org ${at}`,
    event_type: 'joined',
    changed_at: '2024-05-06T00:00:00Z',
  }))
  const again = { ...joinings[1], profile_id: 'person again', person_full_name: 'Person Again' }
  await insertEvents(warehouse, [...joinings, again] as Parameters<typeof insertEvents>[1])
  await buildModels(warehouse, { buildId: 'folder', builtAt: new Date(NOW) })
})

function write(path: string, onPage: () => void = () => undefined) {
  return writeReportFolder(warehouse, { window: WINDOW, list: null, path, writtenAt: NOW }, onPage)
}

function parsed(path: string) {
  return parseHTML(readFileSync(path, 'utf8')).document
}

it('of 1,003 organisations has an index and a page for each, and every link leads to a file', async () => {
  const path = join(temporaryFolder(), 'by-organization')
  const { organizations, pages, bytes } = await write(path)
  expect([organizations, pages]).toEqual([ORGANIZATIONS, ORGANIZATIONS])
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((one) =>
    one.endsWith('.html'),
  )
  expect(files).toHaveLength(ORGANIZATIONS + 1)
  const sizes = files.map((file) => statSync(join(path, file)))
  expect(sizes.reduce((sum, { size }) => sum + size, 0)).toBe(bytes)
  expect(new Set(sizes.map(({ mode }) => mode & 0o777))).toEqual(new Set([0o600]))

  const index = parsed(join(path, 'index.html'))
  const links = [...index.querySelectorAll('a')].map((link) => String(link.getAttribute('href')))
  expect(links.toSorted()).toEqual(files.filter((file) => file !== 'index.html').toSorted())
  expect(index.querySelector('tbody th')?.textContent.trim()).toBe('Org 1')

  const own = parsed(join(path, 'organizations', 'org_1.html'))
  expect(own.querySelector('.value.joined')?.textContent).toBe('2')
  expect(own.querySelectorAll('#joined tbody tr')).toHaveLength(2)
  const back = own.querySelector('.back a')?.getAttribute('href') ?? ''
  expect(files).toContain(join('organizations', back))
  expect(own.body.textContent).not.toContain('Person 2')
})

it('shows a hostile name as text, and no id leads out of the folder', async () => {
  const path = join(temporaryFolder(), 'by-organization')
  await write(path)
  const link = [...parsed(join(path, 'index.html')).querySelectorAll('a')].find((one) =>
    one.textContent.includes('onerror'),
  )
  const file = link?.getAttribute('href') ?? ''
  expect(file).toMatch(/^organizations\/[\da-f]{32}\.html$/)
  const page = parsed(join(path, file))
  expect(page.querySelectorAll('img, script')).toHaveLength(0)
  expect(page.querySelector('h1')?.textContent).toContain('<img')
})

it('replaces its own folder completely, refuses another, and leaves the old one if it is stopped', async () => {
  const path = join(temporaryFolder(), 'by-organization')
  mkdirSync(path)
  await write(path)
  const stale = join(path, 'organizations', 'gone.html')
  writeFileSync(stale, 'of an organisation that has none any more')
  const stopped = () => {
    throw new Error('stopped')
  }
  await expect(write(path, stopped)).rejects.toThrow('stopped')
  expect(readFileSync(stale, 'utf8')).toContain('that has none')
  await write(path)
  expect(readdirSync(join(path, 'organizations'))).not.toContain('gone.html')
  expect(readdirSync(dirname(path))).toEqual(['by-organization'])

  writeFileSync(join(path, 'mine.txt'), 'x')
  await expect(write(path)).rejects.toThrow('exists and is not a folder of reports of Jobtide')
  await expect(write(join(path, 'mine.txt'))).rejects.toThrow('is not a folder of reports')
})
