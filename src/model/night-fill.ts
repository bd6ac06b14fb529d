/**
 * A night of the filled tables: the keys that touched people mention are added, those that nobody mentions any more go.
 */

import { quoteIdentifier, type Warehouse } from '../warehouse/warehouse.ts'
import { MORE } from './difference.ts'
import { fillMissing, type Filled } from './fill.ts'
import type { FilledTable } from './filled-tables.ts'
import { semiJoin, showPeople, type Groups } from './groups.ts'
import type { Temporaries } from './temporaries.ts'
import { hasColumns, type Tonight } from './tonight.ts'

/** Brings a filled table up to date with `reads`, tables of which touched people have new rows. */
export async function fillOfPeople(
  warehouse: Warehouse,
  temporaries: Temporaries,
  filled: FilledTable,
  reads: readonly Tonight[],
  touched: Groups,
): Promise<Filled> {
  await showPeople(temporaries, reads, touched)
  const inserted = await fillMissing(warehouse, filled)
  await temporaries.unshadow()
  return { inserted, deleted: await forget(warehouse, temporaries, filled, reads) }
}

/**
 * Deletes rows whose key only rows that are gone have mentioned. Of events nothing is ever gone: what they said before
 * they were corrected is in their versions.
 */
async function forget(
  warehouse: Warehouse,
  temporaries: Temporaries,
  filled: FilledTable,
  reads: readonly Tonight[],
): Promise<number> {
  const [read] = reads
  if (read === undefined || reads.length > 1 || read.compared === null) return 0
  const { name, key, mentioned } = filled
  const mentionedIn = async (rows: string) => {
    await temporaries.shadow(read.name, rows)
    const keys = await temporaries.keep(`${mentioned}`)
    await temporaries.unshadow()
    return keys
  }
  const before = await mentionedIn(`select * from ${read.changed} where ${MORE} < 0`)
  const groups = {
    source: before,
    columns: key,
    nullable: new Set<string>(),
    count: 0,
    sieve: null,
  }
  const main = temporaries.main(read.name)
  const now = await mentionedIn(
    hasColumns(read, key)
      ? `select kept.* from ${main} as kept ${semiJoin('kept', groups)}`
      : `select * from ${main}`,
  )
  const same = (a: string, b: string) =>
    key.map((column) => `${a}.${quoteIdentifier(column)} = ${b}.${quoteIdentifier(column)}`)
  const [gone] = await warehouse.all<{ Count: bigint }>(
    `delete from ${temporaries.main(name)} as known
     using (select * from ${before} as before anti join ${now} as now on ${same('before', 'now').join(' and ')}) as gone
     where ${same('known', 'gone').join(' and ')}`,
  )
  return Number(gone?.Count ?? 0)
}
