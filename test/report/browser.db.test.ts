/**
 * Pages in a real Chromium: axe finds no fault, their scripts work under their own security policy, and they send no
 * request. Skipped with a message if there is no Chromium.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { readReport } from '../../src/report/read-report.ts'
import { reportPage } from '../../src/report/write-report.ts'
import { callCli, done } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { insertEvents, memoryWarehouse } from '../helpers/warehouse.ts'

const executablePath = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find(existsSync)
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type Screen = readonly [width: number, colours: 'dark' | 'light']
const SCREENS: readonly Screen[] = [
  // The narrowest that WCAG 2 asks for (1.4.10).
  [320, 'dark'],
  [1280, 'light'],
]

// Skipped where there is no Chromium.
describe.skipIf(executablePath === undefined)('a page in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: executablePath ?? '',
      args: ['--no-sandbox'],
    })
  })
  afterAll(() => browser?.close())

  /**
   * Opens a page, checks it with axe and against the width of the screen, then tries it; it may send no request and log
   * no error.
   */
  async function tried(
    html: string,
    [width, colorScheme]: Screen,
    act: (page: Page) => Promise<void>,
  ): Promise<void> {
    const path = join(temporaryFolder(), 'page.html')
    writeFileSync(path, html)
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme })
    const page = await context.newPage()
    const asked: string[] = []
    const said: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    page.on('console', (message) => said.push(message.text()))
    page.on('pageerror', (error) => said.push(error.message))
    await page.goto(`file://${path}`)
    await page.evaluate(AXE)
    await isAccessible(page, width)
    await act(page)
    await isAccessible(page, width)
    expect([asked, said]).toEqual([[`file://${path}`], []])
    await context.close()
  }

  async function isAccessible(page: Page, width: number): Promise<void> {
    const violations = (await page.evaluate(
      "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, impact, nodes }) => [impact, id, nodes[0].html]))",
    )) as string[][]
    expect(violations).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
  }

  it.each(SCREENS)('of %d px, %s: a report sorts and filters', async (...screen) => {
    await tried(await somePage(), screen, async (page) => {
      const rows = page.locator('#joined tbody tr:visible')
      expect(await rows.count()).toBe(12)
      if (screen[0] > 1000) {
        const heading = page.locator('#joined th button', { hasText: 'Person' })
        await heading.click()
        await heading.click()
        expect(await rows.first().innerText()).toContain('Person 11')
      }
      await page.locator('.filter input').check()
      expect(await rows.count()).toBe(6)
      await page.locator('.filter select').selectOption({ label: 'Org 1' })
      expect(await rows.count()).toBe(3)
    })
  })

  it('of 390 px: the name of a function or level is not broken within a word', async () => {
    const rows = ['administration', 'general management'].map(
      (name) => `<tr><th scope="row">${name}</th>
      <td class="number">9.5 %</td><td class="number">9.5–267 %</td><td class="number">D</td>
      <td class="number">−3</td><td class="number">1,004</td><td class="number">112</td></tr>`,
    )
    const html = (await somePage()).replace(
      '<main id="main">',
      `$&<div class="parts"><div class="scroll" tabindex="0" role="region" aria-label="By function"><table>
        <thead><tr>${'<th scope="col">Head</th>'.repeat(7)}</tr></thead><tbody>${rows.join('')}</tbody></table></div></div>`,
    )
    await tried(html, [390, 'light'], async (page) => {
      const heights = await page.locator('.parts tbody th').evaluateAll((cells) =>
        cells.map((cell) => {
          const range = (
            cell as unknown as { ownerDocument: RangeMaker }
          ).ownerDocument.createRange()
          range.selectNodeContents(cell)
          return range.getClientRects().length
        }),
      )
      expect(heights).toEqual([1, 2])
    })
  })

  it.each(SCREENS)(
    'of %d px, %s: tables are found by a word, opened with the keyboard, and closed again',
    async (...screen) => {
      const path = join(temporaryFolder(), 'catalogue.html')
      done(await callCli(['models', '--html', path, '--data-dir', temporaryFolder()]))
      await tried(readFileSync(path, 'utf8'), screen, async (page) => {
        const items = page.locator('nav li:visible')
        expect(await items.count()).toBeGreaterThan(70)
        await page.locator('input').fill('boomerang joined')
        expect(await items.count()).toBeLessThan(20)
        await page.locator('nav a', { hasText: /^joiners$/ }).focus()
        await page.keyboard.press('Enter')
        const table = page.locator('section.table:visible')
        expect(await table.locator('h2').innerText()).toBe('joiners')
        expect(await page.title()).toBe('joiners – Tables of Jobtide')
        expect(await page.evaluate('document.activeElement.id')).toBe('joiners-head')
        await page.goBack()
        expect(await table.count()).toBe(0)
        expect(await items.count()).toBeLessThan(20)
        await page.goForward()
        await table.locator('dl a', { hasText: /^moves$/ }).click()
        await expect.poll(() => table.locator('h2').innerText()).toBe('moves')
      })
    },
  )
})

/** A document as far as the page is asked for the lines of a text. */
interface RangeMaker {
  createRange(): {
    selectNodeContents(node: unknown): void
    getClientRects(): { readonly length: number }
  }
}

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
          organization_id: `employer ${at}`,
          event_type: 'joined',
          changed_at: '2023-04-03T10:00:00Z',
        },
        {
          ...given,
          organization_id: `employer ${at}`,
          event_type: 'left',
          changed_at: '2024-05-01T00:00:00Z',
        },
        {
          ...given,
          organization_id: `org ${at % 4}`,
          organization_name: `Org ${at % 4}`,
          event_type: 'joined',
          changed_at: '2024-05-26T00:00:00Z',
          // Announced, which takes the widest cell.
          detected_at: '2024-05-10T00:00:00Z',
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
