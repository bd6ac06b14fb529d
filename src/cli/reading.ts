/**
 * Reads the warehouse without blocking a writer, and refuses where nothing is to be read. The journal's code is imported on
 * use, because `query` does not need it.
 */

import { agoText } from '../support/numbers.ts'
import { existsSync } from 'node:fs'
import type { Journal } from '../journal/journal.ts'
import { findAnalystCopy } from '../run/analyst-copy.ts'
import type { DataDirectory } from '../run/data-directory.ts'
import { holderOf } from '../run/lock.ts'
import type { LoadedSegment } from '../run/lost-journal.ts'
import { minuteText } from '../support/clock.ts'
import { ConfigError, JobtideError, LockedError, expectedError } from '../support/errors.ts'
import { SqlError } from '../warehouse/errors.ts'
import { openWarehouse, withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'

/**
 * @throws ConfigError when the journal has no record; the message names a warehouse that exists @throws JournalLossError when
 * it had some
 */
export async function refuseEmpty(journal: Journal, directory: DataDirectory): Promise<void> {
  await refuseNoJournal(journal, directory)
  if (journal.segments().length > 0) return
  const { message, hint } = nothingRun(directory)
  throw new ConfigError(message, { hint })
}

export function nothingRun({ root }: DataDirectory) {
  const hint = 'Try `jobtide demo`, or run a pipeline: `jobtide run nightly`.'
  return { message: `nothing has run yet in ${root}`, hint }
}

/** Like {@link refuseEmpty}, but accepts a data directory in which nothing has run. */
export async function refuseNoJournal(
  journal: Journal,
  directory: DataDirectory,
  loaded?: readonly LoadedSegment[],
): Promise<void> {
  const { refuseLostJournal } = await import('../run/lost-journal.ts')
  await refuseLostJournal(journal, directory, loaded)
  const { root, warehouse } = directory
  if (journal.segments().length > 0 || !existsSync(warehouse)) return
  throw new ConfigError(
    `there is a warehouse in ${root} and no journal: it was restored from a snapshot`,
    {
      hint: 'Put `journal` and `journal.seals` back from a backup if there is one: otherwise a run buys everything again. `jobtide query` reads the warehouse as it is.',
    },
  )
}

export type Reading<T> =
  { readonly value: T; readonly why: null } | { readonly value: null; readonly why: string }

/** For a command that works without the warehouse: any problem with it becomes a sentence. */
export async function readWarehouse<T>(
  path: string,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<Reading<T>> {
  try {
    return { value: await withWarehouse({ path, mode: 'read' }, work), why: null }
  } catch (error) {
    return { value: null, why: expectedError(error).message }
  }
}

type ReaderContext = Pick<Context, 'directory' | 'clock' | 'output'>

/**
 * Opens the warehouse for reading, or the copy for analysts instead. It prefers the copy while both are equal, because an
 * open warehouse blocks a run that wants to write; while another process writes, it adds a note on stderr. @throws
 * LockedError when it is being written and no copy can be read
 * @throws JobtideError otherwise as openWarehouse does
 */
export async function openForReading(context: ReaderContext): Promise<Warehouse> {
  const { directory, clock, output } = context
  const open = (path: string) => openWarehouse({ path, mode: 'read' })
  const copy = findAnalystCopy(directory)
  if (copy === null) return open(directory.warehouse)
  if (copy.isCurrent) {
    return open(copy.path).catch((error: unknown) => {
      // The warehouse shows the same, so a broken copy does no harm.
      if (error instanceof JobtideError) return open(directory.warehouse)
      throw error
    })
  }
  try {
    // A run closes the warehouse between its stages; a reader that opened it just then would end the run.
    const holder = await holderOf(directory.root)
    if (holder !== null) throw new LockedError(`the data directory is in use by ${holder.text}`)
    return await open(directory.warehouse)
  } catch (locked) {
    if (!(locked instanceof LockedError)) throw locked
    const opened = await open(copy.path).catch((error: unknown) => {
      if (!(error instanceof JobtideError)) throw error
      throw new LockedError(`${locked.message}; its copy cannot be read either: ${error.message}`, {
        hint: 'Wait until the warehouse is free. The next publish makes the copy again.',
        cause: error,
      })
    })
    const asOf = `as of ${minuteText(copy.asOf)} UTC (${agoText(clock.now() - copy.asOf)})`
    output.note(`answered from ${copy.path}, ${asOf}:\n  ${locked.message}`)
    return opened
  }
}

/** Opens like {@link openForReading}, does `work`, and always closes. */
export async function whileReading<T>(
  context: ReaderContext,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const warehouse = await openForReading(context)
  try {
    return await work(warehouse)
  } catch (error) {
    if (!(error instanceof SqlError)) throw error
    const { lastFingerprint } = await import('../model/build-state.ts')
    const { readProject } = await import('../model/project.ts')
    if ((await lastFingerprint(warehouse)) === (await readProject(warehouse)).fingerprint)
      throw error
    const [reason] = error.message.split('\n', 1)
    throw new ConfigError(
      `${warehouse.path} was built by another version and lacks data for this command: ${reason}`,
      { hint: 'Run `jobtide load` and `jobtide build`, or a pipeline.', cause: error },
    )
  } finally {
    warehouse.close()
  }
}
