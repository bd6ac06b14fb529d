/**
 * Asks each check only what a night can have broken: a constraint about single rows of the rows that are new, a reconciliation of what
 * came and went, a check with a scope of the groups that a change touches (of the rows just made, where these are all it
 * reads), any other of whole tables. What was not touched has passed the build before.
 */

import { EACH_ROW } from '../warehouse/catalog.ts'
import { quoteIdentifier, type Warehouse } from '../warehouse/warehouse.ts'
import { changedEntries, differencesSql, type Reconciliation } from './reconciliation.ts'
import type { BuildWork } from './build.ts'
import { checkOf, runCheck, type CheckOutcome } from './checks.ts'
import type { Constraint, KeyConstraint, ReferenceConstraint } from './constraints.ts'
import { DIFF_SIGN } from './difference.ts'
import {
  isByPeople,
  keepDifferences,
  keepKeys,
  semiJoin,
  showDifferences,
  showRowsOfKeys,
  showPeople,
  type ChangedKeys,
} from './changed-keys.ts'
import type { Project, ProjectCheck, ProjectNode } from './project.ts'
import { rowsIn, withErrorContext } from './tables.ts'
import type { Temporaries } from './temporaries.ts'
import { areDifferencesKnown, changedKeysOf, type TableDelta } from './table-delta.ts'

/** The checks of one night. */
export class IncrementalChecks {
  readonly #warehouse: Warehouse
  readonly #project: Project
  readonly #temporaries: Temporaries
  readonly #people: ChangedKeys
  readonly #tables: ReadonlyMap<string, TableDelta>
  readonly #known = new Map<string, CheckOutcome>()

  /** @param tables what became of each table; filled while the models are built */
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

  /**
   * Runs the checks of a model that ask for nothing else, right after its rows were written.
   * @param rows all rows of the people or groups that it was computed for
   */
  async runOwn(node: ProjectNode, delta: TableDelta, rows: string): Promise<void> {
    for (const check of this.#project.checks) {
      if (check.reads.join() !== node.name) continue
      if (check.constraint !== null)
        await this.#runOwnConstraint(node, check.constraint, delta, rows)
      else if (
        check.incrementalBy.length > 0 &&
        check.incrementalBy.join() === node.incrementalBy.join()
      ) {
        const run = () =>
          withErrorContext(`check ${check.name}`, () => runCheck(this.#warehouse, check))
        this.#known.set(check.name, await this.#seeing(node.name, rows, run))
      }
    }
  }

  async #runOwnConstraint(
    node: ProjectNode,
    constraint: Constraint,
    delta: TableDelta,
    rows: string,
  ): Promise<void> {
    if (constraint.kind === 'reference') return
    let outcome = await this.#run(constraint, rows)
    if (outcome.offenders === 0 && constraint.kind === 'key' && delta.changed !== null) {
      // Rows of one key are rows of one group where the key says the group; else one may stand elsewhere in the table.
      const isInGroup = node.incrementalBy.every((column) => constraint.columns.includes(column))
      if (!isInGroup) outcome = await this.#runKeyElsewhere(constraint, delta.changed)
    }
    this.#known.set(constraint.name, outcome)
  }

  /** Runs one check when all models are built. */
  async run(check: ProjectCheck): Promise<CheckOutcome> {
    return withErrorContext(`check ${check.name}`, async () => {
      const known = this.#known.get(check.name)
      if (known !== undefined) return known
      if (check.reads.length > 0 && this.#readsOf(check).every(({ change }) => change === 'none')) {
        return { name: check.name, offenders: 0, sample: [] }
      }
      if (check.constraint !== null) return this.#runConstraint(check, check.constraint)
      if (check.reconciliation !== null) return this.#runReconciliation(check, check.reconciliation)
      return this.#runFile(check)
    })
  }

  #readsOf({ reads }: ProjectCheck): TableDelta[] {
    return reads.flatMap((name) => this.#tables.get(name) ?? [])
  }

  async #runConstraint(check: ProjectCheck, constraint: Constraint): Promise<CheckOutcome> {
    if (constraint.kind === 'reference') return this.#runReference(check, constraint)
    const table = this.#tables.get(constraint.table)
    if (table?.changed === undefined || table.changed === null)
      return runCheck(this.#warehouse, check)
    const outcome = await this.#run(constraint, newRows(table.changed, table))
    if (outcome.offenders > 0 || constraint.kind !== 'key' || table.compared === null)
      return outcome
    return this.#runKeyElsewhere(constraint, table.changed)
  }

  async #runReference(check: ProjectCheck, constraint: ReferenceConstraint): Promise<CheckOutcome> {
    const [here, there] = [
      this.#tables.get(constraint.table),
      this.#tables.get(constraint.targetTable),
    ]
    if (
      here === undefined ||
      there === undefined ||
      here.change === 'whole' ||
      there.change === 'whole'
    ) {
      return runCheck(this.#warehouse, check)
    }
    // What depends on one person's rows alone names rows of this person, if it is not a value that people share.
    if (here.rowsOfPeople !== null && there.rowsOfPeople !== null) {
      return this.#runNear(constraint, here.rowsOfPeople, there)
    }
    if (here.changed !== null) {
      const source = newRows(here.changed, here)
      const outcome = await this.#runNear(constraint, source, there)
      if (outcome.offenders > 0) return outcome
    }
    const orphans = await this.#orphaned(constraint, there)
    if (orphans === null) return { name: check.name, offenders: 0, sample: [] }
    const main = this.#temporaries.stored(constraint.table)
    const column = quoteIdentifier(constraint.column)
    return this.#run(
      constraint,
      `(select kept.* from ${main} as kept semi join ${orphans} as gone on kept.${column} = gone.value)`,
    )
  }

  /** Looks first among the rows of touched people, where nearly everything is found, before all of the other table is read. */
  async #runNear(
    constraint: ReferenceConstraint,
    source: string,
    there: TableDelta,
  ): Promise<CheckOutcome> {
    if (there.rowsOfPeople !== null) {
      const near = await this.#seeing(there.name, there.rowsOfPeople, () =>
        this.#run(constraint, source),
      )
      if (near.offenders === 0) return near
    }
    return this.#run(constraint, source)
  }

  /** Runs a check that sees of `table` nothing but `rows`. */
  async #seeing(
    table: string,
    rows: string,
    run: () => Promise<CheckOutcome>,
  ): Promise<CheckOutcome> {
    await this.#temporaries.shadow(table, `select * from ${rows}`)
    const outcome = await run()
    await this.#temporaries.unshadow()
    return outcome
  }

  /** Values that the other table had and has no more; null when there are none. */
  async #orphaned(
    { targetColumn }: ReferenceConstraint,
    there: TableDelta,
  ): Promise<string | null> {
    if (there.changed === null || there.compared === null) return null
    const column = quoteIdentifier(targetColumn)
    const fewer = await this.#temporaries.keep(
      `select ${column} as value from ${there.changed} group by ${column} having sum(${DIFF_SIGN}) < 0`,
    )
    if ((await rowsIn(this.#warehouse, fewer)) === 0) return null
    const lost = await this.#temporaries.keep(
      `select value from ${fewer} as fewer
       anti join ${this.#temporaries.stored(there.name)} as kept on kept.${column} = fewer.value`,
    )
    return (await rowsIn(this.#warehouse, lost)) === 0 ? null : lost
  }

  async #runFile(check: ProjectCheck): Promise<CheckOutcome> {
    const reads = this.#readsOf(check)
    if (isByPeople(this.#project, check.incrementalBy, reads)) {
      await showPeople(this.#temporaries, reads, this.#people)
      const outcome = await runCheck(this.#warehouse, check)
      await this.#temporaries.unshadow()
      return outcome
    }
    if (check.incrementalBy.join() === EACH_ROW) return this.#runOfNew(check, reads)
    const select =
      check.incrementalBy.length === 0
        ? null
        : changedKeysOf(reads, check.incrementalBy, check.words)
    if (select === null) return runCheck(this.#warehouse, check)
    const groups = await keepKeys(this.#warehouse, this.#temporaries, select, check.incrementalBy)
    await showRowsOfKeys(this.#temporaries, reads, groups)
    const outcome = await runCheck(this.#warehouse, check)
    await this.#temporaries.unshadow()
    await this.#temporaries.drop(groups.source)
    return outcome
  }

  /** Asks of new rows alone. */
  async #runOfNew(check: ProjectCheck, reads: readonly TableDelta[]): Promise<CheckOutcome> {
    if (!reads.every(areDifferencesKnown)) return runCheck(this.#warehouse, check)
    await showDifferences(this.#temporaries, reads, '> 0')
    const outcome = await runCheck(this.#warehouse, check)
    await this.#temporaries.unshadow()
    return outcome
  }

  /** Asks whether what the night changed sums up to zero, as everything did before. */
  async #runReconciliation(
    check: ProjectCheck,
    reconciliation: Reconciliation,
  ): Promise<CheckOutcome> {
    const reads = this.#readsOf(check)
    if (!reads.every(areDifferencesKnown)) return runCheck(this.#warehouse, check)
    const entries = await keepDifferences(this.#temporaries, reads, reconciliation.entries)
    const sql = differencesSql(reconciliation, changedEntries(reconciliation, entries))
    const outcome = await runCheck(this.#warehouse, { ...check, sql })
    await this.#temporaries.drop(entries)
    return outcome
  }

  async #run(constraint: Constraint, source: string): Promise<CheckOutcome> {
    return runCheck(this.#warehouse, checkOf(constraint, source))
  }

  /** Asks whether a key that is new stands elsewhere in the table, too; no new key is null. */
  async #runKeyElsewhere(constraint: KeyConstraint, changed: string): Promise<CheckOutcome> {
    const { columns, table } = constraint
    const names = columns.map(quoteIdentifier)
    const source = await this.#temporaries.keep(
      `select ${names.join(', ')} from ${changed} group by all having sum(${DIFF_SIGN}) > 0`,
    )
    const fresh = { source, columns, nullable: new Set<string>(), count: 0, prefilter: null }
    const alike = await this.#temporaries.keep(
      `select ${names.map((name) => `kept.${name}`).join(', ')}
       from ${this.#temporaries.stored(table)} as kept ${semiJoin('kept', fresh)}`,
    )
    const outcome = await this.#run(constraint, alike)
    for (const kept of [source, alike]) await this.#temporaries.drop(kept)
    return outcome
  }
}

function newRows(changed: string, { compared }: TableDelta): string {
  return compared === null ? changed : `(select * from ${changed} where ${DIFF_SIGN} > 0)`
}
