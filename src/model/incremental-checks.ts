/**
 * Runs each check only on what an incremental build can have broken: on new rows, on changed keys or changed people, on what
 * refers to rows that are gone; on whole tables where that is not known. All other rows have passed the build before.
 * Temporary views decide what a check sees, as they do for models; its SQL is that of a full refresh.
 */

import { EACH_ROW, type Reference } from '../warehouse/catalog.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import {
  deltasOf,
  isByPeople,
  keepKeys,
  showNew,
  showPeople,
  showRowsOfKeys,
  type IncrementalWork,
} from './changed-keys.ts'
import type { CheckOutcome } from './check-outcome.ts'
import { passed, runCheck } from './checks.ts'
import type { Check } from './constraints.ts'
import { DIFF_SIGN } from './difference.ts'
import { changedKeysOf, newRows, type TableDelta } from './table-delta.ts'
import { rowsIn } from './tables.ts'

/** Runs a check when all models are built. */
export async function checkChanges(work: IncrementalWork, check: Check): Promise<CheckOutcome> {
  const reads = deltasOf(work, check.reads)
  if (check.reads.length > 0 && reads.every(({ change }) => change === 'none')) {
    return passed(check)
  }
  const [from, to] = reads
  if (check.reference !== undefined && from && to && reads.every(isKnown)) {
    return checkReference(work, check, check.reference, from, to)
  }
  const { temporaries } = work
  const { incrementalBy } = check
  if (isByPeople(work, incrementalBy, reads)) {
    await showPeople(work, reads)
    return checkShown(work, check)
  }
  if (incrementalBy.join() === EACH_ROW) {
    if (reads.every(isKnown)) await showNew(temporaries, reads)
    return checkShown(work, check)
  }
  const select = incrementalBy.length === 0 ? null : changedKeysOf(reads, incrementalBy)
  if (select === null) return checkShown(work, check)
  const keys = await keepKeys(temporaries, select, incrementalBy)
  await showRowsOfKeys(temporaries, reads, keys)
  const outcome = await checkShown(work, check)
  await temporaries.drop(keys.source)
  return outcome
}

/** Looks for what new rows refer to, then for rows that refer to what is gone. */
async function checkReference(
  work: IncrementalWork,
  check: Check,
  { column, targetColumn }: Reference,
  from: TableDelta,
  to: TableDelta,
): Promise<CheckOutcome> {
  const { warehouse, temporaries } = work
  // First against the rows of changed people, where nearly everything is found.
  const checkRows = async (rows: string): Promise<CheckOutcome> => {
    if (to.peopleRows !== null) {
      await temporaries.shadow(from.name, rows)
      await temporaries.shadow(to.name, `select * from ${to.peopleRows}`)
      const near = await checkShown(work, check)
      if (near.offenders === 0) return near
    }
    await temporaries.shadow(from.name, rows)
    return checkShown(work, check)
  }
  // The rows of a person refer to rows of the same person, or to values that people share.
  if (from.peopleRows !== null && to.peopleRows !== null) {
    return checkRows(`select * from ${from.peopleRows}`)
  }
  if (from.delta !== null) {
    const outcome = await checkRows(newRows(from.delta))
    if (outcome.offenders > 0) return outcome
  }
  if (to.delta === null || !to.isExact) return passed(check)
  const gone = await temporaries.keep(
    `select ${quoteIdentifier(targetColumn)} as value from ${to.delta}
     group by 1 having sum(${DIFF_SIGN}) < 0`,
  )
  if ((await rowsIn(warehouse, gone)) === 0) return passed(check)
  return checkRows(
    `select kept.* from ${temporaries.stored(from.name)} as kept
     semi join ${gone} as gone on kept.${quoteIdentifier(column)} = gone.value`,
  )
}

/** Runs a check on the rows that are shown to it. */
async function checkShown(
  { warehouse, temporaries }: IncrementalWork,
  check: Check,
): Promise<CheckOutcome> {
  const outcome = await runCheck(warehouse, check)
  await temporaries.unshadow()
  return outcome
}

function isKnown({ change }: TableDelta): boolean {
  return change !== 'all'
}
