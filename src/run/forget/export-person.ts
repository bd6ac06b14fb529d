/** Exports everything known about one person, for a subject access request. */

import { openJournal } from '../../journal/journal.ts'
import { eventsOn, partsNaming } from '../../load/remove-suppressed.ts'
import { peopleIn, readSuppression } from '../../load/suppression.ts'
import { isoInstant } from '../../support/clock.ts'
import { ConfigError } from '../../support/errors.ts'
import { SIGNAL_DELIVERY, nameInTier } from '../../warehouse/catalog.ts'
import { relationsOf } from '../../warehouse/erase-rows.ts'
import { asObjects } from '../../warehouse/rows.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import type { RunWorld } from '../stages.ts'
import { knownOf, namingOf, readingIn } from './search.ts'

type ExportWorld = Pick<RunWorld, 'directory' | 'clock' | 'version'>
type Row = Readonly<Record<string, unknown>>

const SOURCES = [
  'Events come from the job-change service that the pipelines ask; `events_as_sent` holds each as it was received.',
  'Everything in `tables` was made of these events and answers. ops.coverage says which organisations were asked for, and for what time: what was not asked for is not known.',
  'Answers of other endpoints and deliveries of signals come from the same service; `answers_as_sent` holds what of each names the person.',
  'Snapshots in `published_to` hold rows of these tables, older ones as they were then.',
]

/**
 * Gathers everything, under the names of data; exact numbers are texts. Rows about others that name the person, such as
 * a successor, are left out.
 * @throws ConfigError when nothing is known of them
 * @throws JournalLossError when a part of the journal is lost
 */
export async function exportPerson(world: ExportWorld, profileId: string) {
  const { directory, clock, version } = world
  const { tables, markers, destinations } = await readingIn(directory, async (warehouse) => ({
    ...(await knownOf(warehouse, [profileId])),
    tables: await rowsAbout(warehouse, profileId),
  }))
  const { events, answers } = receivedOf(world, profileId, namingOf(markers))
  if (events.length === 0 && answers.length === 0 && Object.keys(tables).length === 0) {
    const wasErased = readSuppression(openJournal(directory.journal, clock)).coversPerson(profileId)
    const name = JSON.stringify(profileId)
    const what = wasErased
      ? `${name} was erased: nothing is known of them`
      : `nothing is known of ${name} in ${directory.root}`
    throw new ConfigError(what, {
      hint: 'People go by their profile_id: find it with `jobtide query "from people where person_full_name = …"`.',
    })
  }
  return {
    profile_id: profileId,
    exported_at: isoInstant(clock.now()),
    jobtide: version,
    sources: SOURCES,
    tables,
    events_as_sent: events,
    answers_as_sent: answers,
    // They may have been copied from there.
    published_to: destinations,
  }
}

function receivedOf(
  { directory, clock }: ExportWorld,
  profileId: string,
  isNamed: (text: string) => boolean,
) {
  const events: { run_id: string; request_id: string; received_at: string; event: unknown }[] = []
  const answers: { endpoint: string; received_at: string; parts: readonly unknown[] }[] = []
  const journal = openJournal(directory.journal, clock)
  // Half of what is known would look like all of it.
  journal.check()
  for (const segment of journal.segments()) {
    for (const frame of journal.read(segment)) {
      const { record } = frame
      if (record.kind === 'answer_received' || record.kind === 'delivery_received') {
        const { endpoint, subject } =
          record.kind === 'answer_received' ? record : { endpoint: SIGNAL_DELIVERY, subject: '' }
        const parts = partsNaming(frame.payload(), isNamed, subject)
        if (parts.length > 0) answers.push({ endpoint, received_at: isoInstant(record.at), parts })
      }
      if (record.kind !== 'page_received') continue
      const { run_id, request_id, at } = record
      for (const event of eventsOn(frame.payload())) {
        if (!peopleIn(event).includes(profileId)) continue
        events.push({ run_id, request_id, received_at: isoInstant(at), event })
      }
    }
  }
  return { events, answers }
}

async function rowsAbout(warehouse: Warehouse, profileId: string) {
  const found: Record<string, readonly Row[]> = {}
  for (const { name, relation, columns: held } of await relationsOf(warehouse)) {
    const table = nameInTier(name)
    if (table === undefined || !held.includes('profile_id')) continue
    const result = await warehouse.table(
      `select * from ${relation} where profile_id = $1 order by all`,
      [profileId],
    )
    if (result.rows.length > 0) found[table] = asObjects(result)
  }
  return found
}
