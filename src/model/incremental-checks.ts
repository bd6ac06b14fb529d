/**
 * Runs each check only on what an incremental build can have broken: on new rows, on changed keys or changed people, on what
 * refers to rows that are gone; on whole tables where that is not known. All other rows have passed the build before.
 * Temporary views decide what a check sees, as they do for models; its SQL is that of a full refresh.
 */

import { EACH_ROW, type Reference } from '../warehouse/catalog.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import {
  isByPeople,
  keepKeys,
  showNew,
  showPeople,
  showRowsOfKeys,
  type ChangedKeys,
} from './changed-keys.ts'
import type { CheckOutcome } from './check-outcome.ts'
import { runCheck } from './checks.ts'
import type { Check } from './constraints.ts'
import { DIFF_SIGN } from './difference.ts'
import type { BuildWork } from './project.ts'
import { changedKeysOf, newRows, type TableDelta } from './table-delta.ts'
import { rowsIn } from './tables.ts'
import type { Temporaries } from './temporaries.ts'

/** The checks of one incremental build; they run when all models are built. */
export class IncrementalChecks {
  readonly #work: BuildWork
  readonly #temporaries: Temporaries
  readonly #people: ChangedKeys
  readonly #tables: ReadonlyMap<string, TableDelta>

  /** @param tables what became of each table */
  constructor(
    work: BuildWork,
    temporaries: Temporaries,
    people: ChangedKeys,
    tables: ReadonlyMap<string, TableDelta>,
  ) {
    this.#work = work
    this.#temporaries = temporaries
    this.#people = people
    this.#tables = tables
  }

  async run(check: Check): Promise<CheckOutcome> {
    const reads = check.reads.flatMap((name) => this.#tables.get(name) ?? [])
    if (check.reads.length > 0 && reads.every(({ change }) => change === 'none')) {
      return passed(check)
    }
    const [from, to] = reads
    if (check.reference !== null && from && to && reads.every(isKnown)) {
      return this.#runReference(check, check.reference, from, to)
    }
    return this.#runOnChanges(check, reads)
  }

  /** Lets a check see only what can have broken it; everything, where that is not known. */
  async #runOnChanges(check: Check, reads: readonly TableDelta[]): Promise<CheckOutcome> {
    const { incrementalBy } = check
    const temporaries = this.#temporaries
    if (isByPeople(this.#work.project, incrementalBy, reads)) {
      await showPeople(temporaries, reads, this.#people)
      return this.#runOnce(check)
    }
    if (incrementalBy.join() === EACH_ROW) {
      if (reads.every(isKnown)) await showNew(temporaries, reads)
      return this.#runOnce(check)
    }
    const select = incrementalBy.length === 0 ? null : changedKeysOf(reads, incrementalBy)
    if (select === null) return this.#runOnce(check)
    const keys = await keepKeys(this.#work.warehouse, temporaries, select, incrementalBy)
    await showRowsOfKeys(temporaries, reads, keys)
    const outcome = await this.#runOnce(check)
    await temporaries.drop(keys.source)
    return outcome
  }

  /** Looks for what new rows refer to, then for rows that refer to what is gone. */
  async #runReference(
    check: Check,
    { column, targetColumn }: Reference,
    from: TableDelta,
    to: TableDelta,
  ): Promise<CheckOutcome> {
    // The rows of a person refer to rows of the same person, or to values that people share.
    if (from.peopleRows !== null && to.peopleRows !== null) {
      return this.#runOn(check, `select * from ${from.peopleRows}`, from, to)
    }
    if (from.delta !== null) {
      const outcome = await this.#runOn(check, newRows(from.delta), from, to)
      if (outcome.offenders > 0) return outcome
    }
    if (to.delta === null || !to.isExact) return passed(check)
    const gone = await this.#temporaries.keep(
      `select ${quoteIdentifier(targetColumn)} as value from ${to.delta}
       group by 1 having sum(${DIFF_SIGN}) < 0`,
    )
    if ((await rowsIn(this.#work.warehouse, gone)) === 0) return passed(check)
    const referring = `select kept.* from ${this.#temporaries.stored(from.name)} as kept
      semi join ${gone} as gone on kept.${quoteIdentifier(column)} = gone.value`
    return this.#runOn(check, referring, from, to)
  }

  /** Runs a reference on `rows` of its table: first against the rows of changed people, where nearly everything is found. */
  async #runOn(
    check: Check,
    rows: string,
    from: TableDelta,
    to: TableDelta,
  ): Promise<CheckOutcome> {
    if (to.peopleRows !== null) {
      await this.#temporaries.shadow(from.name, rows)
      await this.#temporaries.shadow(to.name, `select * from ${to.peopleRows}`)
      const near = await this.#runOnce(check)
      if (near.offenders === 0) return near
    }
    await this.#temporaries.shadow(from.name, rows)
    return this.#runOnce(check)
  }

  async #runOnce(check: Check): Promise<CheckOutcome> {
    const outcome = await runCheck(this.#work.warehouse, check)
    await this.#temporaries.unshadow()
    return outcome
  }
}

function passed({ name }: Check): CheckOutcome {
  return { name, offenders: 0, sample: [] }
}

function isKnown({ change }: TableDelta): boolean {
  return change !== 'all'
}
