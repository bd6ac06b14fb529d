/** Runs the commands of the pages in docs/, after those of the README. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openWarehouse } from '../../src/warehouse/warehouse.ts'
import { describePages } from './executed.ts'
import { pages, read, readBlocks } from './markdown.ts'

const ofReadme = readBlocks(read('README.md'))
  .filter(({ info, text }) => info === 'sh run' && text.startsWith('mkdir'))
  .map(({ text }) => text)
const site = describePages(
  pages.filter((page) => page !== 'README.md'),
  [...ofReadme, 'npx jobtide run nightly'].join('\n'),
)

it.each(
  readBlocks(read('docs/analysts.md'))
    .filter(({ info }) => info === 'sql analyst')
    .map(({ text }) => [text.split('\n', 1)[0], text]),
)('analyst.duckdb answers: %s …', async (_, sql) => {
  const path = join(site.folder(), 'data', 'analyst.duckdb')
  const engine = await openWarehouse({ path, mode: 'read' })
  try {
    await engine.run(readFileSync(join(site.folder(), 'data', 'as_known_on.sql'), 'utf8'))
    expect((await engine.table(sql ?? '')).rows.length).toBeGreaterThan(3)
  } finally {
    engine.close()
  }
})
