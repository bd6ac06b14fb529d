/** What a command says that shows what was done, where nothing was. */

import type { Journal } from '../journal/journal.ts'
import { ConfigError } from '../support/errors.ts'

/**
 * @throws ConfigError when the journal of the data directory `root` has no record
 * @throws JournalLossError when it had some
 */
export function refuseEmpty(journal: Journal, root: string): void {
  journal.check()
  if (journal.segments().length > 0) return
  throw new ConfigError(`nothing was run yet in ${root}`, {
    hint: 'Try `jobtide demo`, or run a pipeline: `jobtide run nightly`.',
  })
}
