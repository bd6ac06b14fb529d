/**
 * The page in a real Chromium: axe finds nothing serious, its script sorts and filters under its own security policy, and it
 * asks for nothing. Skipped, with a sentence, where there is no Chromium.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { chromium, type Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { reportPage } from '../../src/report/page.ts'
import { readReport } from '../../src/report/read-report.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { insertEvents, memoryWarehouse } from '../helpers/warehouse.ts'

const executablePath = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find(existsSync)
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

// Skipped where there is no Chromium.
describe.skipIf(executablePath === undefined)('the page in a browser', () => {
  let browser: Browser
  let html: string
  beforeAll(async () => {
    html = await somePage()
    browser = await chromium.launch({
      executablePath: executablePath ?? '',
      args: ['--no-sandbox'],
    })
  })
  afterAll(() => browser?.close())

  it.each([
    [400, 'dark'],
    [1400, 'light'],
  ] as const)(
    'of %d px, %s: nothing serious, no request, sorted and filtered',
    async (width, colorScheme) => {
      const path = join(temporaryFolder(), 'report.html')
      writeFileSync(path, html)
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme })
      const page = await context.newPage()
      const asked: string[] = []
      const said: string[] = []
      page.on('request', (request) => asked.push(request.url()))
      page.on('console', (message) => said.push(message.text()))
      await page.goto(`file://${path}`)
      await page.evaluate(AXE)
      const violations = (await page.evaluate(
        'axe.run().then(({ violations }) => violations.map(({ id, impact, nodes }) => [impact, id, nodes[0].html]))',
      )) as string[][]
      expect(
        violations.filter(([impact]) => impact === 'serious' || impact === 'critical'),
      ).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)

      const rows = page.locator('#joined tbody tr:visible')
      expect(await rows.count()).toBe(12)
      if (width > 1000) {
        const heading = page.locator('#joined th button', { hasText: 'Person' })
        await heading.click()
        await heading.click()
        expect(await rows.first().innerText()).toContain('Person 11')
      }
      await page.locator('.filter input').check()
      expect(await rows.count()).toBe(6)
      await page.locator('.filter select').selectOption({ label: 'Org 1' })
      expect(await rows.count()).toBe(3)
      expect([asked, said]).toEqual([[`file://${path}`], []])
      await context.close()
    },
  )
})

async function somePage(): Promise<string> {
  const warehouse = await memoryWarehouse()
  await insertEvents(
    warehouse,
    Array.from({ length: 12 }, (_, at) => at).flatMap((at) => {
      const given = {
        profile_id: `person ${at}`,
        person_full_name: `Person ${at}`,
        person_network_url: `https://network.example/in/${at}`,
        title_current: at % 2 === 0 ? 'Engineer' : 'VP Engineering',
      }
      return [
        {
          ...given,
          organization_id: 'org 9',
          event_type: 'joined',
          changed_at: '2023-04-03T10:00:00Z',
        },
        {
          ...given,
          organization_id: 'org 9',
          event_type: 'left',
          changed_at: '2024-05-01T00:00:00Z',
        },
        {
          ...given,
          organization_id: `org ${at % 4}`,
          organization_name: `Org ${at % 4}`,
          event_type: 'joined',
          changed_at: '2024-05-06T00:00:00Z',
        },
      ]
    }),
  )
  const now = Date.UTC(2024, 4, 20)
  await buildModels(warehouse, { buildId: 'browser', builtAt: new Date(now) })
  const data = await readReport(warehouse, { from: Date.UTC(2024, 4, 1), to: now }, null)
  warehouse.close()
  return reportPage(data, now)
}
