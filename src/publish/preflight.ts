/** What a destination has to pass before a run buys: a run that cannot publish spends nothing. */

import { readCurrent } from './read-snapshot.ts'
import {
  isOfAnotherJournal,
  refuseOlderJournal,
  refuseOtherJournal,
  type LossChoices,
  type Source,
} from './refuse-loss.ts'
import type { ObjectStore } from './store/object-store.ts'

/**
 * Reads what a destination shows, and refuses one that is fed from another journal or a newer copy of this one, or knows of
 * more erased people. That it can be written, opening it for writing has shown.
 * @param credits charged or in doubt, of all runs of the journal
 * @throws PublishError also when pointer or manifest is missing, changed or not Jobtide's
 */
export async function checkDestination(
  store: ObjectStore,
  source: Source,
  credits: number,
  choices: LossChoices & { readonly lists: readonly string[] },
): Promise<void> {
  const current = await readCurrent(store)
  if (current === null) return
  const { manifest } = current
  refuseOtherJournal(manifest, source, store.destination, choices)
  if (isOfAnotherJournal(manifest, source)) return
  refuseOlderJournal(manifest, credits, store.destination, choices)
}
