/**
 * Loading 200,000 events from a journal, and, for comparison, what DuckDB alone needs for the same rows: read_json over
 * a file of the events and one insert into the same columns, without keys, history, ledger or field checks.
 * JOBTIDE_BENCH_EVENTS sets another number.
 */

import { createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { openJournal, type Journal } from '../../src/journal/journal.ts'
import { load } from '../../src/load/load.ts'
import { DAY, MIB } from '../../src/support/units.ts'
import { quoteText } from '../../src/warehouse/sql-text.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { START, aPage, aBatch, handClock, startRun, wireEvent } from '../load/load-fixture.ts'

const EVENTS = Number(process.env['JOBTIDE_BENCH_EVENTS'] ?? 200_000)
const PAGE = 50
const TYPES = ['joined', 'left', 'title_change'] as const

function* pagesOfEvents() {
  for (let from = 0; from < EVENTS; from += PAGE) {
    yield Array.from({ length: PAGE }, (_, i) => {
      const n = from + i
      return wireEvent({
        person: `per_${(n * 7_919) % Math.ceil(EVENTS / 4)}`,
        organization: `org_${n % 2_000}`,
        type: TYPES[n % 3]!,
        changedAt: START - (n % 700) * DAY,
        detectedAt: START - (n % 300) * DAY,
        title: `Senior Engineer ${n % 5_000}`,
        name: `Given${n % 3_000} Family${n % 7_000}`,
        headline: `Headline of about the usual length, number ${n}`,
        organizationName: `Organisation ${n % 2_000}`,
      })
    })
  }
}

async function writeInputs(folder: string): Promise<{ journal: Journal; json: string }> {
  const journal = openJournal(join(folder, 'journal'), handClock())
  const writer = journal.writer()
  const json = join(folder, 'events.ndjson')
  const stream = createWriteStream(json)
  startRun(writer, [aBatch()])
  let page = 0
  for (const events of pagesOfEvents()) {
    page += 1
    const { record, body } = aPage(events, { page, at: START + page })
    writer.write(record, body)
    const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('')
    if (!stream.write(lines)) await once(stream, 'drain')
  }
  await writer.close()
  stream.end()
  await once(stream, 'finish')
  return { journal, json }
}

async function timed(
  path: string,
  work: (warehouse: Warehouse) => Promise<unknown>,
): Promise<number> {
  const warehouse = await openWarehouse({ path, mode: 'write' })
  const began = performance.now()
  await work(warehouse)
  const seconds = (performance.now() - began) / 1_000
  warehouse.close()
  return seconds
}

const bareInsert = (json: string) => `
  insert into job_change_events
  select
      md5(concat_ws('|', person.profile_id, organization.organization_id, event_type, changed_at, title.current)),
      person.profile_id, organization.organization_id, event_type, changed_at, detected_at, detection_lag_days,
      title.current, title.previous, person.handle, person.full_name, person.first_name, person.last_name,
      person.headline, person.network_url, organization.name, organization.slug, organization.network_url,
      detected_at, detected_at, detected_at, 'run_1', 'run_1', 1
  from read_json(${quoteText(json)}, format = 'newline_delimited', columns = {
      event_type: 'varchar', detected_at: 'timestamptz', changed_at: 'timestamptz', detection_lag_days: 'integer',
      title: 'struct("current" varchar, previous varchar)',
      person: 'struct(profile_id varchar, handle varchar, full_name varchar, first_name varchar,
          last_name varchar, headline varchar, network_url varchar)',
      organization: 'struct(organization_id varchar, "name" varchar, slug varchar, network_url varchar)'
  })`

describe('load', () => {
  it(`${EVENTS} events from a journal`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'jobtide-bench-'))
    try {
      const { journal, json } = await writeInputs(folder)
      const bytes = journal
        .segments()
        .reduce((sum, name) => sum + statSync(join(journal.folder, name)).size, 0)
      const path = join(folder, 'load.duckdb')
      const first = await timed(path, async (warehouse) => {
        expect(await load({ warehouse, journal })).toMatchObject({ sightings: EVENTS })
      })
      const peak = process.resourceUsage().maxRSS / 1_024
      const again = await timed(path, (warehouse) => load({ warehouse, journal }))
      const bare = await timed(join(folder, 'bare.duckdb'), async (warehouse) => {
        await warehouse.run(bareInsert(json))
        const [row] = await warehouse.all<{ n: number }>(
          'select count(*)::int as n from job_change_events',
        )
        expect(row?.n).toBe(EVENTS)
      })
      const rate = (seconds: number) => Math.round(EVENTS / seconds).toLocaleString('en')
      process.stdout.write(`journal               ${(bytes / MIB).toFixed(0)} MiB\n`)
      process.stdout.write(`load                  ${first.toFixed(2)} s  ${rate(first)} events/s\n`)
      process.stdout.write(`bare read_json+insert ${bare.toFixed(2)} s  ${rate(bare)} events/s\n`)
      process.stdout.write(`ratio                 ${(first / bare).toFixed(1)}\n`)
      process.stdout.write(`peak of the process   ${peak.toFixed(0)} MiB\n`)
      process.stdout.write(`load again            ${(again * 1_000).toFixed(0)} ms\n`)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
