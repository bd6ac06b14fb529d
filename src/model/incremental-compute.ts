/**
 * A night of the filled tables: the keys that touched people mention are added, those that nobody mentions any more go.
 */

import { quoteIdentifier, type Warehouse } from '../warehouse/warehouse.ts'
import { DIFF_SIGN } from './difference.ts'
import { computeMissing, type RowsWritten } from './compute.ts'
import type { ComputedModel } from './computed-models.ts'
import { semiJoin, showPeople, type ChangedKeys } from './changed-keys.ts'
import type { Temporaries } from './temporaries.ts'
import { hasColumns, type TableDelta } from './table-delta.ts'

/** Brings a filled table up to date with `reads`, tables of which touched people have new rows. */
export async function computeForPeople(
  warehouse: Warehouse,
  temporaries: Temporaries,
  computed: ComputedModel,
  reads: readonly TableDelta[],
  people: ChangedKeys,
): Promise<RowsWritten> {
  await showPeople(temporaries, reads, people)
  const inserted = await computeMissing(warehouse, computed)
  await temporaries.unshadow()
  return { inserted, deleted: await forget(warehouse, temporaries, computed, reads) }
}

/**
 * Deletes rows whose key only rows that are gone have mentioned. Of events nothing is ever gone: what they said before
 * they were corrected is in their versions.
 */
async function forget(
  warehouse: Warehouse,
  temporaries: Temporaries,
  computed: ComputedModel,
  reads: readonly TableDelta[],
): Promise<number> {
  const [read] = reads
  if (read === undefined || reads.length > 1 || read.compared === null) return 0
  const { name, key, mentioned } = computed
  const mentionedIn = async (rows: string) => {
    await temporaries.shadow(read.name, rows)
    const keys = await temporaries.keep(`${mentioned}`)
    await temporaries.unshadow()
    return keys
  }
  const before = await mentionedIn(`select * from ${read.changed} where ${DIFF_SIGN} < 0`)
  const groups = {
    source: before,
    columns: key,
    nullable: new Set<string>(),
    count: 0,
    prefilter: null,
  }
  const main = temporaries.stored(read.name)
  const now = await mentionedIn(
    hasColumns(read, key)
      ? `select kept.* from ${main} as kept ${semiJoin('kept', groups)}`
      : `select * from ${main}`,
  )
  const same = (a: string, b: string) =>
    key.map((column) => `${a}.${quoteIdentifier(column)} = ${b}.${quoteIdentifier(column)}`)
  const [gone] = await warehouse.all<{ Count: bigint }>(
    `delete from ${temporaries.stored(name)} as known
     using (select * from ${before} as before anti join ${now} as now on ${same('before', 'now').join(' and ')}) as gone
     where ${same('known', 'gone').join(' and ')}`,
  )
  return Number(gone?.Count ?? 0)
}
