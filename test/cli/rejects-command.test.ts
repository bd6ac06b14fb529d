import { describe, expect, it } from 'vitest'
import { rejectsCommand } from '../../src/cli/rejects-command.ts'
import { START, aBatch, startRun, wireEvent } from '../load/load-fixture.ts'
import { buyPage, ledgerSite, type LedgerSite } from './ledger-fixture.ts'

const show = (site: LedgerSite, limit = 20) =>
  site.show((context) => rejectsCommand(context, { limit }))

async function siteWith(...pages: readonly (readonly unknown[])[]): Promise<LedgerSite> {
  const site = ledgerSite(START)
  await site.journal((writer) => {
    startRun(writer, [aBatch()])
    pages.forEach((events, index) => {
      buyPage(writer, events, { at: START + index * 60_000, page: index + 1 })
    })
  })
  await site.load()
  return site
}

describe('rejects', () => {
  const late = { ...wireEvent(), detected_at: 'soon' }
  const later = { ...wireEvent(), detected_at: 'later,\n"still" later' }
  const nobody = { ...wireEvent(), person: null }

  it('counts reasons without the values sent, and shows the newest events with position and reason', async () => {
    const site = await siteWith([late, wireEvent(), later], [nobody])
    const { text, document } = await show(site, 2)
    const lines = text.split('\n')
    expect(lines.slice(0, 5)).toEqual([
      '3 events rejected of 4 received; the rest of their pages was loaded',
      '',
      'events  last (UTC)        reason',
      '     2  2026-03-01 00:00  detected_at: expected an ISO 8601 instant',
      '     1  2026-03-01 00:01  person: expected keys and values',
    ])
    expect(lines[6]).toMatch(/^received \(UTC\) +batch\/page\/place +reason +event$/)
    expect(lines[7]).toMatch(/^2026-03-01 00:01 +0001\/2\/1 +person: expec/)
    expect(lines[8]).toMatch(/^2026-03-01 00:00 +0001\/1\/1 +detected_at: /)
    expect(lines.slice(9)).toEqual([
      '(the newest 2 of 3; more with --limit)',
      'whole events: --json',
    ])
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(document).toMatchObject({
      received: 4,
      rejects: 3,
      reasons: [{ events: 2, first_at: '2026-03-01T00:00:00.000Z' }, { events: 1 }],
      rows: [
        { run_id: 'run_1', page: 2, position: 1, event: { person: null } },
        { page: 1, position: 1, event: { detected_at: 'soon' } },
      ],
    })
  })
})
