/**
 * Draws the pictures of docs/images (`npm run screenshots`): the demo's warehouse, its report in a Chromium at two widths, and
 * two commands as a terminal of 80 columns shows them. The simulator's people are made up.
 */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'

const executablePath = [
  process.env.CHROMIUM ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((path) => existsSync(path))
if (executablePath === undefined) {
  process.stderr.write('screenshots: there is no Chromium; name one with CHROMIUM=/path\n')
  process.exit(2)
}

const images = join('docs', 'images')
const scratch = mkdtempSync(join(tmpdir(), 'jobtide-screenshots-'))
const data = join(scratch, 'demo')
mkdirSync(images, { recursive: true })

const jobtide = (...words) =>
  execFileSync(process.execPath, ['dist/cli.js', ...words, '--data-dir', data], {
    encoding: 'utf8',
    env: { ...process.env, COLUMNS: '80' },
  })

const COMMANDS = {
  status: ['status'],
  query: [
    'query',
    `select person_full_name, title, organization_name
  from joiners where is_primary and level in ('cxo', 'vp')
  order by known_at desc limit 8`,
  ],
}

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
try {
  execFileSync(process.execPath, ['dist/cli.js', 'demo', '--data-dir', scratch])
  const report = join(scratch, 'report.html')
  jobtide('report', '--days', '30', '--out', report)
  await draw('report.png', `file://${report}`, { width: 1200, height: 1350 })
  await draw('report-phone.png', `file://${report}`, { width: 390, height: 1200 }, 'dark')
  for (const [name, words] of Object.entries(COMMANDS)) {
    await terminal(`${name}.png`, words)
  }
} finally {
  await browser.close()
  rmSync(scratch, { recursive: true })
}

async function draw(file, url, viewport, colorScheme = 'light') {
  const page = await browser.newPage({ viewport, colorScheme })
  await page.goto(url)
  await page.screenshot({ path: join(images, file) })
  await page.close()
}

async function terminal(file, words) {
  const typed = words.map((word) => (word.includes(' ') ? `"${word}"` : word)).join(' ')
  const page = await browser.newPage({ viewport: { width: 900, height: 200 } })
  await page.setContent(`<pre style="display: inline-block; width: 80ch; margin: 0; padding: 20px 24px;
    background: #16191d; color: #e6e9ed; font: 14px/1.45 'DejaVu Sans Mono', monospace"></pre>`)
  await page.locator('pre').evaluate(
    (pre, text) => {
      pre.textContent = text
    },
    `$ npx jobtide ${typed}\n${jobtide(...words)
      .trimEnd()
      .replaceAll(scratch, '/srv')}`,
  )
  await page.locator('pre').screenshot({ path: join(images, file) })
  await page.close()
}
