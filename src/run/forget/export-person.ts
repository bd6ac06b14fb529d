/** Everything that is known of one person: what they may ask to see. */

import { existsSync } from 'node:fs'
import { openJournal } from '../../journal/journal.ts'
import { cutEvents } from '../../load/cut-events.ts'
import { peopleIn, readSuppression } from '../../load/suppression.ts'
import { isoInstant } from '../../support/clock.ts'
import { ConfigError } from '../../support/errors.ts'
import { quoted, tablesOf } from '../../warehouse/erase.ts'
import { withWarehouse, type Warehouse } from '../../warehouse/warehouse.ts'
import type { RunWorld } from '../stages.ts'
import { knownDestinations } from './snapshots.ts'

type Row = Readonly<Record<string, unknown>>
type ExportWorld = Pick<RunWorld, 'directory' | 'clock' | 'version'>

/** What is known of a person, with the names of data. */
export interface PersonExport {
  readonly profile_id: string
  readonly exported_at: string
  readonly jobtide: string
  /** Where it comes from, and what it does not cover. */
  readonly sources: readonly string[]
  /** Rows about the person, by table of the warehouse; exact numbers are texts. */
  readonly tables: Readonly<Record<string, readonly Row[]>>
  /** Events as the service sent them. */
  readonly events_as_sent: readonly {
    readonly run_id: string
    readonly request_id: string
    readonly received_at: string
    readonly event: unknown
  }[]
  /** Where the tables and events were published, and may have been copied from. */
  readonly published_to: readonly string[]
}

/**
 * Gathers everything. Rows about others that name the person (as a successor, say) are not among it: they are about others.
 * @throws ConfigError when nothing is known of them
 * @throws JournalLossError when a part of the journal is lost
 */
export async function exportPerson(world: ExportWorld, profileId: string): Promise<PersonExport> {
  const { directory, clock, version } = world
  const events = eventsAsSent(world, profileId)
  const { tables, publishedTo } = existsSync(directory.warehouse)
    ? await withWarehouse({ path: directory.warehouse, mode: 'read' }, async (warehouse) => ({
        tables: await rowsAbout(warehouse, profileId),
        publishedTo: await knownDestinations(warehouse),
      }))
    : { tables: {}, publishedTo: [] }
  if (events.length === 0 && Object.keys(tables).length === 0) throw unknown(world, profileId)
  return {
    profile_id: profileId,
    exported_at: isoInstant(clock.now()),
    jobtide: version,
    sources: [
      'Events come from the job-change service that the pipelines ask; `events_as_sent` holds each as it was received.',
      'Everything in `tables` was made of these events. ops.coverage says which organisations were asked for, and for what time: what was not asked for is not known.',
      'Snapshots in `published_to` hold rows of these tables, older ones as they were then.',
    ],
    tables,
    events_as_sent: events,
    published_to: publishedTo,
  }
}

function unknown({ directory, clock }: ExportWorld, profileId: string): ConfigError {
  const suppression = readSuppression(openJournal(directory.journal, clock))
  return new ConfigError(
    suppression.coversPerson(profileId)
      ? `${JSON.stringify(profileId)} was erased: nothing is known of them`
      : `nothing is known of ${JSON.stringify(profileId)} in ${directory.root}`,
    {
      hint: 'People go by their profile_id: find it with `jobtide query "from people where person_full_name = …"`.',
    },
  )
}

function eventsAsSent({ directory, clock }: ExportWorld, profileId: string) {
  const found: PersonExport['events_as_sent'][number][] = []
  const journal = openJournal(directory.journal, clock)
  // Half of what is known would look like all of it.
  journal.check()
  for (const segment of journal.segments()) {
    for (const frame of journal.read(segment)) {
      const { record } = frame
      if (record.kind !== 'page_received') continue
      const { run_id, request_id, at } = record
      cutEvents(frame.payload(), (event) => {
        if (!peopleIn(event).includes(profileId)) return false
        found.push({ run_id, request_id, received_at: isoInstant(at), event })
        return false
      })
    }
  }
  return found
}

/** Rows about the person in tables that analysts see. */
async function rowsAbout(
  warehouse: Warehouse,
  profileId: string,
): Promise<Record<string, readonly Row[]>> {
  const found: Record<string, readonly Row[]> = {}
  for (const [name, held] of await tablesOf(warehouse)) {
    if (!name.startsWith('main.') || !held.includes('profile_id')) continue
    const { columns, rows } = await warehouse.table(
      `select * from ${quoted(name)} where profile_id = $1 order by all`,
      [profileId],
    )
    if (rows.length === 0) continue
    found[name.slice('main.'.length)] = rows.map((row) =>
      Object.fromEntries(columns.map((column, index) => [column.name, row[index]])),
    )
  }
  return found
}
