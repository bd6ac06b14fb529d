/**
 * Runs each check only on what an incremental build can have broken: a constraint and a check by row on new rows, a
 * reconciliation on the difference, a check with `incremental_by` on the changed keys, any other one on whole tables. All
 * other rows have passed the build before.
 */

import { EACH_ROW } from '../warehouse/catalog.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { BuildWork } from './build-work.ts'
import {
  isByPeople,
  keepKeys,
  rowsOfKeys,
  showDelta,
  showPeople,
  showRowsOfKeys,
  type ChangedKeys,
} from './changed-keys.ts'
import type { CheckOutcome } from './check-outcome.ts'
import { checkOf, runCheck } from './checks.ts'
import type { Constraint, KeyConstraint, ReferenceConstraint } from './constraints.ts'
import { DIFF_SIGN, listOf } from './difference.ts'
import type { Project, ProjectCheck } from './project.ts'
import { differenceEntries, differencesSql, type Reconciliation } from './reconciliation.ts'
import { changedKeysOf, newRows, PERSON, type TableDelta } from './table-delta.ts'
import { rowsIn } from './tables.ts'
import type { Temporaries } from './temporaries.ts'

/** The checks of one incremental build; they run when all models are built. */
export class IncrementalChecks {
  readonly #warehouse: Warehouse
  readonly #project: Project
  readonly #temporaries: Temporaries
  readonly #people: ChangedKeys
  readonly #tables: ReadonlyMap<string, TableDelta>

  /** @param tables what became of each table */
  constructor(
    { warehouse, project }: BuildWork,
    temporaries: Temporaries,
    people: ChangedKeys,
    tables: ReadonlyMap<string, TableDelta>,
  ) {
    this.#warehouse = warehouse
    this.#project = project
    this.#temporaries = temporaries
    this.#people = people
    this.#tables = tables
  }

  async run(check: ProjectCheck): Promise<CheckOutcome> {
    const reads = check.reads.flatMap((name) => this.#tables.get(name) ?? [])
    if (check.reads.length > 0 && reads.every(({ change }) => change === 'none')) {
      return { name: check.name, offenders: 0, sample: [] }
    }
    if (check.constraint !== null) return this.#runConstraint(check, check.constraint, reads)
    if (check.reconciliation !== null) {
      return this.#runReconciliation(check, check.reconciliation, reads)
    }
    await this.#show(check, reads)
    const outcome = await runCheck(this.#warehouse, check)
    await this.#temporaries.unshadow()
    return outcome
  }

  /** Lets a check see only what can have broken it; everything, where that is not known. */
  async #show({ incrementalBy }: ProjectCheck, reads: readonly TableDelta[]): Promise<void> {
    const temporaries = this.#temporaries
    if (isByPeople(this.#project, incrementalBy, reads)) {
      return showPeople(temporaries, reads, this.#people)
    }
    if (incrementalBy.join() === EACH_ROW) {
      if (reads.every(isKnown)) await showDelta(temporaries, reads, '> 0')
      return
    }
    const select = incrementalBy.length === 0 ? null : changedKeysOf(reads, incrementalBy)
    if (select === null) return
    const keys = await keepKeys(this.#warehouse, temporaries, select, incrementalBy)
    await showRowsOfKeys(temporaries, reads, keys)
  }

  async #runConstraint(
    check: ProjectCheck,
    constraint: Constraint,
    reads: readonly TableDelta[],
  ): Promise<CheckOutcome> {
    if (!reads.every(isKnown)) return runCheck(this.#warehouse, check)
    const table = this.#tables.get(constraint.table)
    if (constraint.kind === 'reference') return this.#runReference(constraint, table)
    if (table === undefined || table.delta === null) return runCheck(this.#warehouse, check)
    return constraint.kind === 'key'
      ? this.#runKey(constraint, table, table.delta)
      : this.#run(constraint, newRows(table.delta))
  }

  /** Looks for each new key in the whole table; where a key belongs to one person, among the rows of changed people. */
  async #runKey(
    constraint: KeyConstraint,
    { name, peopleRows, isExact }: TableDelta,
    delta: string,
  ): Promise<CheckOutcome> {
    const { columns } = constraint
    if (peopleRows !== null && (columns.includes(PERSON) || !isExact)) {
      return this.#run(constraint, peopleRows)
    }
    const temporaries = this.#temporaries
    const select = `select ${listOf(columns)} from ${newRows(delta)}`
    const keys = await keepKeys(this.#warehouse, temporaries, select, columns)
    const rows = await temporaries.keep(rowsOfKeys(temporaries, name, keys))
    const outcome = await this.#run(constraint, rows)
    for (const kept of [keys.source, rows]) await temporaries.drop(kept)
    return outcome
  }

  /** Looks for what new rows refer to, then for rows that refer to what is gone. */
  async #runReference(
    constraint: ReferenceConstraint,
    table: TableDelta | undefined,
  ): Promise<CheckOutcome> {
    const target = this.#tables.get(constraint.targetTable)
    const passed = { name: constraint.name, offenders: 0, sample: [] }
    // The rows of a person refer to rows of the same person, or to values that people share.
    if (table !== undefined && table.peopleRows !== null && target?.peopleRows) {
      return this.#runNear(constraint, table.peopleRows, target)
    }
    const isNew = table !== undefined && table.delta !== null
    const outcome = isNew ? await this.#runNear(constraint, newRows(table.delta), target) : passed
    if (outcome.offenders > 0 || !target?.delta || !target.isExact) return outcome
    const column = quoteIdentifier(constraint.targetColumn)
    const gone = await this.#temporaries.keep(
      `select ${column} as value from ${target.delta} group by 1 having sum(${DIFF_SIGN}) < 0`,
    )
    if ((await rowsIn(this.#warehouse, gone)) === 0) return outcome
    const stored = this.#temporaries.stored(constraint.table)
    return this.#run(
      constraint,
      `(select kept.* from ${stored} as kept semi join ${gone} as gone on kept.${quoteIdentifier(constraint.column)} = gone.value)`,
    )
  }

  /** Looks first among the rows of changed people, where nearly everything is found, before it reads all of the target. */
  async #runNear(
    constraint: ReferenceConstraint,
    source: string,
    target: TableDelta | undefined,
  ): Promise<CheckOutcome> {
    if (target !== undefined && target.peopleRows !== null) {
      await this.#temporaries.shadow(target.name, `select * from ${target.peopleRows}`)
      const near = await this.#run(constraint, source)
      await this.#temporaries.unshadow()
      if (near.offenders === 0) return near
    }
    return this.#run(constraint, source)
  }

  /** Asks whether new rows, less those that are gone, sum up to zero, as everything did before. */
  async #runReconciliation(
    check: ProjectCheck,
    reconciliation: Reconciliation,
    reads: readonly TableDelta[],
  ): Promise<CheckOutcome> {
    const temporaries = this.#temporaries
    if (!reads.every((table) => isKnown(table) && table.isExact)) {
      return runCheck(this.#warehouse, check)
    }
    await showDelta(temporaries, reads, '> 0')
    const added = await temporaries.keep(reconciliation.entries)
    await temporaries.unshadow()
    await showDelta(temporaries, reads, '< 0')
    const removed = await temporaries.keep(reconciliation.entries)
    await temporaries.unshadow()
    const sql = differencesSql(reconciliation, differenceEntries(reconciliation, added, removed))
    return runCheck(this.#warehouse, { ...check, sql })
  }

  async #run(constraint: Constraint, source: string): Promise<CheckOutcome> {
    return runCheck(this.#warehouse, checkOf(constraint, source))
  }
}

function isKnown({ change }: TableDelta): boolean {
  return change !== 'all'
}
