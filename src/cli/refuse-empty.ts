/** Refuses to show what was done where nothing was. */

import { existsSync } from 'node:fs'
import type { History } from '../journal/history.ts'
import { openJournal, type Journal } from '../journal/journal.ts'
import { readHistory } from '../journal/read-history.ts'
import type { DataDirectory } from '../run/data-directory.ts'
import { ConfigError } from '../support/errors.ts'
import type { Context } from './context.ts'

/** The history of a data directory. @throws as {@link refuseEmpty} does */
export function historyShown({ directory, clock }: Context): History {
  const journal = openJournal(directory.journal, clock)
  refuseEmpty(journal, directory)
  return readHistory(journal)
}

/**
 * @throws ConfigError when the journal of the data directory has no record; a warehouse beside it is named
 * @throws JournalLossError when it had some
 */
export function refuseEmpty(journal: Journal, { root, warehouse }: DataDirectory): void {
  journal.check()
  if (journal.segments().length > 0) return
  if (existsSync(warehouse)) {
    throw new ConfigError(
      `there is a warehouse in ${root} and no journal: it was restored from a snapshot, or its journal is lost`,
      {
        hint: 'If it is lost, put `journal` and `journal.seals` back from a backup: a run without them buys everything again. `jobtide query` reads the warehouse as it is.',
      },
    )
  }
  throw new ConfigError(`nothing was run yet in ${root}`, {
    hint: 'Try `jobtide demo`, or run a pipeline: `jobtide run nightly`.',
  })
}
