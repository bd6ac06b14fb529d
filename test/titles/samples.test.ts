/** How well real titles are understood. A floor against falling back; the words were chosen with these samples in sight. */

import { parse } from 'csv-parse/sync'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { packageRoot } from '../../src/support/assets.ts'
import { compareTitles } from '../../src/titles/compare.ts'
import { understandTitle } from '../../src/titles/understand.ts'

const folder = join(packageRoot, '..', 'shared', 'data')

function samples<Column extends string>(name: string): Record<Column, string>[] {
  return parse(readFileSync(join(folder, name), 'utf8'), { columns: true })
}

describe('samples of real titles (skipped where ../shared/data is absent)', () => {
  it('gets 90 % of the levels right and at most 3 % wrong: the rest is unknown', (context) => {
    if (!existsSync(folder)) context.skip('../shared/data is absent')
    const titles = samples<'title' | 'level'>('title-samples.csv')
    const read = titles.map(({ title, level }) => ({ level, got: understandTitle(title).level }))
    const right = read.filter(({ level, got }) => level === got).length
    const wrong = read.filter(({ level, got }) => level !== got && got !== 'unknown').length
    expect(right / titles.length).toBeGreaterThan(0.9)
    expect(wrong / titles.length).toBeLessThan(0.03)
  })

  it('finds 85 % of the promotions, and 95 % of those it finds are ones', (context) => {
    if (!existsSync(folder)) context.skip('../shared/data is absent')
    const changes = samples<'previous' | 'current' | 'label'>('transition-samples.csv')
    const promotions = changes.filter(({ label }) => label === 'promotion')
    const found = changes.filter(
      ({ previous, current }) => compareTitles(previous, current).label === 'promotion',
    )
    const right = found.filter(({ label }) => label === 'promotion').length
    expect(right / promotions.length).toBeGreaterThan(0.85)
    expect(right / found.length).toBeGreaterThan(0.95)
  })
})
