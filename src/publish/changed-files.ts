/**
 * What an export keeps of files of the snapshot before where the rows are known that are gone from them: of files that stay all
 * others; of files that do not, all others are written again beside the rows that came.
 */

import { sum } from '../support/numbers.ts'
import { quoteText } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { listOfColumns, type PublishedColumn } from './columns.ts'
import { locatedRowsSql, type RowSource } from './live-rows.ts'
import type { Partition } from './partitions.ts'
import { ofYears, type FilesOfPartition } from './table-rows.ts'

export class ChangedFiles {
  readonly #warehouse: Warehouse
  /** SQL: the columns. */
  readonly #listed: string
  readonly #gone: string
  /** Of partitions to write: the live rows of files that do not stay. */
  readonly #others = new Map<string, RowSource>()

  /** @param gone SQL for `from`: the rows of files that are gone: `year`, `stored_in`, `stored_at` */
  constructor(warehouse: Warehouse, columns: readonly PublishedColumn[], gone: string) {
    this.#warehouse = warehouse
    this.#listed = listOfColumns(columns)
    this.#gone = gone
  }

  /**
   * Counts what became of a partition, whose gone rows are those of all its files.
   * @param came rows that none of its files has
   * @returns `found`: rows that are gone from any of its files; else as RowsToExport.compare
   */
  async count(
    partition: Partition,
    { kept, others }: FilesOfPartition,
    came: number,
  ): Promise<{ readonly gone: number; readonly fresh: number; readonly found: number }> {
    const stays = (kept.files ?? []).map(({ sha256 }) => quoteText(sha256)).join(', ')
    const [counted] = await this.#warehouse.all<{ found: bigint; gone: bigint }>(
      `select count(*) as found, count(*) filter (where stored_in in (${stays})) as gone
       from ${this.#gone} where ${ofYears([partition])}`,
    )
    const [found, gone] = [Number(counted?.found ?? 0), Number(counted?.gone ?? 0)]
    if (others !== null) this.#others.set(partition.name, others)
    const again = sum((others?.files ?? []).map((file) => file.rows - file.deletes))
    return { gone, fresh: came + again - (found - gone), found }
  }

  /** SQL for `from`: the rows of a counted partition that are in none of the files that stay. @param came a select of new ones */
  freshOf({ name }: Partition, came: string): string {
    const others = this.#others.get(name)
    return others === undefined ? `(${came})` : `(${came} union all ${this.liveOf(others)})`
  }

  /** SQL, a select: the rows of files that are not gone. */
  liveOf(source: RowSource): string {
    return `select ${this.#listed} from (${locatedRowsSql(source)})
      where (stored_in, stored_at) not in (select stored_in, stored_at from ${this.#gone})`
  }
}
