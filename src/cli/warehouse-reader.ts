/**
 * Reading without keeping anybody from writing. For a command that is right without the warehouse, whatever is wrong with
 * it becomes a sentence; for one that is about it, the copy for analysts stands in while another process writes.
 */

import { findAnalystCopy } from '../run/analyst-copy.ts'
import { holderOf } from '../run/lock.ts'
import { EXIT, JobtideError, LockedError } from '../support/errors.ts'
import { openWarehouse, withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import { agoText, minuteText } from './text.ts'

/** What was read, or why nothing was. */
export type Reading<T> =
  { readonly value: T; readonly why: null } | { readonly value: null; readonly why: string }

/** Reads from the warehouse at `path`; it may be missing, locked or damaged. */
export async function readWarehouse<T>(
  path: string,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<Reading<T>> {
  try {
    return { value: await withWarehouse({ path, mode: 'read' }, work), why: null }
  } catch (error) {
    // A defect is no reason to go on without the warehouse: it is to be seen.
    if (!(error instanceof JobtideError) || error.exitCode === EXIT.defect) throw error
    return { value: null, why: error.message }
  }
}

/**
 * Opens the warehouse for reading, or the copy for analysts in its place: without a word while both show the same, because
 * a warehouse that is open stops a run that wants to write; with a note on stderr while another process writes the warehouse.
 * @throws LockedError when it is being written and there is no copy that can be read
 * @throws JobtideError otherwise as openWarehouse does
 */
export async function openForReading(
  context: Pick<Context, 'directory' | 'clock' | 'output'>,
): Promise<Warehouse> {
  const { directory, clock, output } = context
  const openOriginal = () => openWarehouse({ path: directory.warehouse, mode: 'read' })
  const copy = findAnalystCopy(directory)
  if (copy === null) return openOriginal()
  if (copy.isCurrent) return (await openIfReadable(copy.path)) ?? openOriginal()
  try {
    await refuseWhileInUse(directory.root)
    return await openOriginal()
  } catch (error) {
    if (!(error instanceof LockedError)) throw error
    const opened = await openInstead(copy.path, error)
    const asOf = `as of ${minuteText(copy.asOf)} UTC (${agoText(clock.now() - copy.asOf)})`
    output.note(`answered from ${copy.path}, ${asOf}:\n  ${error.message}`)
    return opened
  }
}

/** Opens as {@link openForReading} does, for `work`, and closes afterwards, whatever happened. */
export async function whileReading<T>(
  context: Pick<Context, 'directory' | 'clock' | 'output'>,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const warehouse = await openForReading(context)
  try {
    return await work(warehouse)
  } finally {
    warehouse.close()
  }
}

// The warehouse shows the same, so whatever is wrong with the copy does no harm.
async function openIfReadable(copy: string): Promise<Warehouse | null> {
  try {
    return await openWarehouse({ path: copy, mode: 'read' })
  } catch (error) {
    if (error instanceof JobtideError) return null
    throw error
  }
}

// A run closes the warehouse between its stages; a reader that opened it just then would end the run.
async function refuseWhileInUse(dataDir: string): Promise<void> {
  const holder = await holderOf(dataDir)
  if (holder === null) return
  throw new LockedError(`the data directory is in use by ${holder}`, {
    hint: 'Wait until it ends.',
  })
}

async function openInstead(copy: string, locked: LockedError): Promise<Warehouse> {
  try {
    return await openWarehouse({ path: copy, mode: 'read' })
  } catch (error) {
    if (!(error instanceof JobtideError)) throw error
    throw new LockedError(`${locked.message}; and its copy cannot be read: ${error.message}`, {
      hint: 'Wait until the warehouse is free; the next publish makes the copy again.',
      cause: error,
    })
  }
}
