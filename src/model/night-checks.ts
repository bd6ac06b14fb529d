/**
 * Asks each check only what a night can have broken: a claim about single rows of the rows that are new, a balance of what
 * came and went, a check with a scope of the groups that a change touches (of the rows just made, where these are all it
 * reads), any other of whole tables. What was not touched has passed the build before.
 */

import { EACH_ROW } from '../warehouse/catalog.ts'
import { quoteIdentifier, type Warehouse } from '../warehouse/warehouse.ts'
import { changedEntries, imbalanceSql, type Balance } from './balance.ts'
import type { BuildWork } from './build.ts'
import { checkOf, runCheck, type CheckOutcome } from './checks.ts'
import type { Claim, KeyClaim, ReferenceClaim } from './claims.ts'
import { MORE } from './difference.ts'
import {
  isByPeople,
  keepDifferences,
  keepGroups,
  semiJoin,
  showDifferences,
  showGroups,
  showPeople,
  type Groups,
} from './groups.ts'
import type { Project, ProjectCheck, ProjectNode } from './project.ts'
import { rowsIn, saying } from './tables.ts'
import type { Temporaries } from './temporaries.ts'
import { areDifferencesKnown, touchedGroups, type Tonight } from './tonight.ts'

/** The checks of one night. */
export class NightChecks {
  readonly #warehouse: Warehouse
  readonly #project: Project
  readonly #temporaries: Temporaries
  readonly #touched: Groups
  readonly #tables: ReadonlyMap<string, Tonight>
  readonly #known = new Map<string, CheckOutcome>()

  /** @param tables what became of each table; filled while the models are built */
  constructor(
    { warehouse, project }: BuildWork,
    temporaries: Temporaries,
    touched: Groups,
    tables: ReadonlyMap<string, Tonight>,
  ) {
    this.#warehouse = warehouse
    this.#project = project
    this.#temporaries = temporaries
    this.#touched = touched
    this.#tables = tables
  }

  /**
   * Runs the checks of a model that ask for nothing else, right after its rows were written.
   * @param rows all rows of the people or groups that it was computed for
   */
  async runOwn(node: ProjectNode, tonight: Tonight, rows: string): Promise<void> {
    for (const check of this.#project.checks) {
      if (check.reads.join() !== node.name) continue
      if (check.claim !== null) await this.#runOwnClaim(node, check.claim, tonight, rows)
      else if (check.scope.length > 0 && check.scope.join() === node.scope.join()) {
        const run = () => saying(`check ${check.name}`, () => runCheck(this.#warehouse, check))
        this.#known.set(check.name, await this.#seeing(node.name, rows, run))
      }
    }
  }

  async #runOwnClaim(
    node: ProjectNode,
    claim: Claim,
    tonight: Tonight,
    rows: string,
  ): Promise<void> {
    if (claim.kind === 'reference') return
    let outcome = await this.#run(claim, rows)
    if (outcome.offenders === 0 && claim.kind === 'key' && tonight.changed !== null) {
      // Rows of one key are rows of one group where the key says the group; else one may stand elsewhere in the table.
      const isInGroup = node.scope.every((column) => claim.columns.includes(column))
      if (!isInGroup) outcome = await this.#runKeyElsewhere(claim, tonight.changed)
    }
    this.#known.set(claim.name, outcome)
  }

  /** Runs one check when all models are built. */
  async run(check: ProjectCheck): Promise<CheckOutcome> {
    return saying(`check ${check.name}`, async () => {
      const known = this.#known.get(check.name)
      if (known !== undefined) return known
      if (check.reads.length > 0 && this.#readsOf(check).every(({ change }) => change === 'none')) {
        return { name: check.name, offenders: 0, sample: [] }
      }
      if (check.claim !== null) return this.#runClaim(check, check.claim)
      if (check.balance !== null) return this.#runBalance(check, check.balance)
      return this.#runFile(check)
    })
  }

  #readsOf({ reads }: ProjectCheck): Tonight[] {
    return reads.flatMap((name) => this.#tables.get(name) ?? [])
  }

  async #runClaim(check: ProjectCheck, claim: Claim): Promise<CheckOutcome> {
    if (claim.kind === 'reference') return this.#runReference(check, claim)
    const table = this.#tables.get(claim.table)
    if (table?.changed === undefined || table.changed === null)
      return runCheck(this.#warehouse, check)
    const outcome = await this.#run(claim, newRows(table.changed, table))
    if (outcome.offenders > 0 || claim.kind !== 'key' || table.compared === null) return outcome
    return this.#runKeyElsewhere(claim, table.changed)
  }

  async #runReference(check: ProjectCheck, claim: ReferenceClaim): Promise<CheckOutcome> {
    const [here, there] = [this.#tables.get(claim.table), this.#tables.get(claim.targetTable)]
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
      return this.#runNear(claim, here.rowsOfPeople, there)
    }
    if (here.changed !== null) {
      const source = newRows(here.changed, here)
      const outcome = await this.#runNear(claim, source, there)
      if (outcome.offenders > 0) return outcome
    }
    const orphans = await this.#orphaned(claim, there)
    if (orphans === null) return { name: check.name, offenders: 0, sample: [] }
    const main = this.#temporaries.main(claim.table)
    const column = quoteIdentifier(claim.column)
    return this.#run(
      claim,
      `(select kept.* from ${main} as kept semi join ${orphans} as gone on kept.${column} = gone.value)`,
    )
  }

  /** Looks first among the rows of touched people, where nearly everything is found, before all of the other table is read. */
  async #runNear(claim: ReferenceClaim, source: string, there: Tonight): Promise<CheckOutcome> {
    if (there.rowsOfPeople !== null) {
      const near = await this.#seeing(there.name, there.rowsOfPeople, () =>
        this.#run(claim, source),
      )
      if (near.offenders === 0) return near
    }
    return this.#run(claim, source)
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
  async #orphaned({ targetColumn }: ReferenceClaim, there: Tonight): Promise<string | null> {
    if (there.changed === null || there.compared === null) return null
    const column = quoteIdentifier(targetColumn)
    const fewer = await this.#temporaries.keep(
      `select ${column} as value from ${there.changed} group by ${column} having sum(${MORE}) < 0`,
    )
    if ((await rowsIn(this.#warehouse, fewer)) === 0) return null
    const lost = await this.#temporaries.keep(
      `select value from ${fewer} as fewer
       anti join ${this.#temporaries.main(there.name)} as kept on kept.${column} = fewer.value`,
    )
    return (await rowsIn(this.#warehouse, lost)) === 0 ? null : lost
  }

  async #runFile(check: ProjectCheck): Promise<CheckOutcome> {
    const reads = this.#readsOf(check)
    if (isByPeople(this.#project, check.scope, reads)) {
      await showPeople(this.#temporaries, reads, this.#touched)
      const outcome = await runCheck(this.#warehouse, check)
      await this.#temporaries.unshadow()
      return outcome
    }
    if (check.scope.join() === EACH_ROW) return this.#runOfNew(check, reads)
    const select = check.scope.length === 0 ? null : touchedGroups(reads, check.scope, check.words)
    if (select === null) return runCheck(this.#warehouse, check)
    const groups = await keepGroups(this.#warehouse, this.#temporaries, select, check.scope)
    await showGroups(this.#temporaries, reads, groups)
    const outcome = await runCheck(this.#warehouse, check)
    await this.#temporaries.unshadow()
    await this.#temporaries.drop(groups.source)
    return outcome
  }

  /** Asks of new rows alone. */
  async #runOfNew(check: ProjectCheck, reads: readonly Tonight[]): Promise<CheckOutcome> {
    if (!reads.every(areDifferencesKnown)) return runCheck(this.#warehouse, check)
    await showDifferences(this.#temporaries, reads, '> 0')
    const outcome = await runCheck(this.#warehouse, check)
    await this.#temporaries.unshadow()
    return outcome
  }

  /** Asks whether what the night changed sums up to zero, as everything did before. */
  async #runBalance(check: ProjectCheck, balance: Balance): Promise<CheckOutcome> {
    const reads = this.#readsOf(check)
    if (!reads.every(areDifferencesKnown)) return runCheck(this.#warehouse, check)
    const entries = await keepDifferences(this.#temporaries, reads, balance.entries)
    const sql = imbalanceSql(balance, changedEntries(balance, entries))
    const outcome = await runCheck(this.#warehouse, { ...check, sql })
    await this.#temporaries.drop(entries)
    return outcome
  }

  async #run(claim: Claim, source: string): Promise<CheckOutcome> {
    return runCheck(this.#warehouse, checkOf(claim, source))
  }

  /** Asks whether a key that is new stands elsewhere in the table, too; no new key is null. */
  async #runKeyElsewhere(claim: KeyClaim, changed: string): Promise<CheckOutcome> {
    const { columns, table } = claim
    const names = columns.map(quoteIdentifier)
    const source = await this.#temporaries.keep(
      `select ${names.join(', ')} from ${changed} group by all having sum(${MORE}) > 0`,
    )
    const fresh = { source, columns, nullable: new Set<string>(), count: 0, sieve: null }
    const alike = await this.#temporaries.keep(
      `select ${names.map((name) => `kept.${name}`).join(', ')}
       from ${this.#temporaries.main(table)} as kept ${semiJoin('kept', fresh)}`,
    )
    const outcome = await this.#run(claim, alike)
    for (const kept of [source, alike]) await this.#temporaries.drop(kept)
    return outcome
  }
}

function newRows(changed: string, { compared }: Tonight): string {
  return compared === null ? changed : `(select * from ${changed} where ${MORE} > 0)`
}
