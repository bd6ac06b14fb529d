/** What a destination has to pass before a run buys: a run that cannot publish spends nothing. */

import { readCurrent } from './read-snapshot.ts'
import { refuseOther, type LossChoices, type Source } from './refuse-loss.ts'
import type { ObjectStore } from './store/object-store.ts'

/**
 * Reads what a destination shows, and refuses one that is fed from another journal or knows of more erased people. That it
 * can be written, opening it for writing has shown.
 * @throws PublishError also when pointer or manifest is missing, changed or not Jobtide's
 */
export async function checkDestination(
  store: ObjectStore,
  source: Source,
  choices: LossChoices & { readonly lists: readonly string[] },
): Promise<void> {
  const current = await readCurrent(store)
  if (current !== null) refuseOther(current.manifest, source, store.destination, choices)
}
