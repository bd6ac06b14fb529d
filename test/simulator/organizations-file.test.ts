import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { writeReport } from '../../src/report/write-report.ts'
import { writeOrganizationsFile } from '../../src/simulator/events.ts'
import { parseOrganizations } from '../../src/plan/organizations.ts'
import { EXIT } from '../../src/support/errors.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'

it('simulate replaces its own list and an unused one, and refuses anything else', () => {
  const folder = temporaryFolder()
  const path = join(folder, 'organizations.csv')
  const write = (to = path) =>
    writeOrganizationsFile(to, [{ organization_id: 'org_a', name: 'A' }], (text) => text === 'x')
  for (const _ of [1, 2]) write()
  expect(parseOrganizations(readFileSync(path), 'list').organizations).toHaveLength(1)
  writeFileSync(path, 'x')
  write()
  writeFileSync(path, 'organization_id\norg_mine\n')
  expect(() => write()).toThrow(expect.objectContaining({ exitCode: EXIT.usage }))
  expect(readFileSync(path, 'utf8')).toBe('organization_id\norg_mine\n')
  writeFileSync(path, 'x')
  write()
  appendFileSync(path, 'org_mine,Mine\n')
  expect(() => write()).toThrow('is not a list of this world')
  mkdirSync(join(folder, 'sub'))
  expect(() => write(join(folder, 'sub'))).toThrow('is not a list of this world')
})

it('report replaces a report, and refuses anything else', async () => {
  const path = join(temporaryFolder(), 'page.html')
  const warehouse = await memoryWarehouse()
  const window = { from: 0, to: 1 }
  const write = () => writeReport(warehouse, { window, list: null, path, writtenAt: 0 })
  for (const other of ['', 'mine', '<!doctype html><html lang="en"><title>Mine</title>']) {
    writeFileSync(path, other)
    await expect(write()).rejects.toMatchObject({ exitCode: EXIT.usage })
    expect(readFileSync(path, 'utf8')).toBe(other)
  }
  warehouse.close()
})
