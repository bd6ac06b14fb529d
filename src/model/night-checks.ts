/**
 * Asks each check only what a night can have broken: a claim about single rows of the rows that are new, a check with a scope
 * of the groups that a change touches, any other of whole tables. What was not touched has passed the build before.
 */

import { quoteIdentifier, type Warehouse } from '../warehouse/warehouse.ts'
import type { BuildWork } from './build.ts'
import { checkOf, runCheck, type CheckOutcome } from './checks.ts'
import type { Claim, KeyClaim, ReferenceClaim } from './claims.ts'
import { IS_NEW, semiJoin } from './difference.ts'
import type { ProjectCheck, ProjectNode } from './project.ts'
import { rowsIn, saying } from './tables.ts'
import type { Temporaries } from './temporaries.ts'
import { hasColumns, PERSON, touchedGroups, type Tonight } from './tonight.ts'

/** The checks of one night. */
export class NightChecks {
  readonly #warehouse: Warehouse
  readonly #checks: readonly ProjectCheck[]
  readonly #temporaries: Temporaries
  readonly #tables: ReadonlyMap<string, Tonight>
  readonly #keyOutcomes = new Map<string, CheckOutcome>()

  /** @param tables what became of each table; filled while the models are built */
  constructor(work: BuildWork, temporaries: Temporaries, tables: ReadonlyMap<string, Tonight>) {
    this.#warehouse = work.warehouse
    this.#checks = work.project.checks
    this.#temporaries = temporaries
    this.#tables = tables
  }

  /**
   * Checks the key of a model right after its difference was written.
   * @param rows all rows of the people or groups that it was computed for
   */
  async runKey(node: ProjectNode, tonight: Tonight, rows: string): Promise<void> {
    const claim = this.#checks.find(
      ({ claim: one }) => one?.kind === 'key' && one.table === node.name,
    )?.claim
    if (claim?.kind !== 'key') return
    let outcome = await this.#run(claim, rows)
    // Rows of one key are rows of one group where the key says the group; else one may stand elsewhere in the table.
    const isInGroup = node.scope.every((column) => claim.columns.includes(column))
    if (outcome.offenders === 0 && !isInGroup && tonight.changed !== null) {
      outcome = await this.#run(claim, this.#rowsLikeNew(claim, tonight.changed))
    }
    this.#keyOutcomes.set(claim.name, outcome)
  }

  /** Runs one check when all models are built. */
  async run(check: ProjectCheck): Promise<CheckOutcome> {
    return saying(`check ${check.name}`, async () => {
      const known = this.#keyOutcomes.get(check.name)
      if (known !== undefined) return known
      if (check.reads.length > 0 && this.#readsOf(check).every(({ change }) => change === 'none')) {
        return { name: check.name, offenders: 0, sample: [] }
      }
      if (check.claim !== null) return this.#runClaim(check, check.claim)
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
    return this.#run(claim, newRows(table.changed, table))
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
      await this.#temporaries.shadow(there.name, `select * from ${there.rowsOfPeople}`)
      const near = await this.#run(claim, source)
      await this.#temporaries.unshadow()
      if (near.offenders === 0) return near
    }
    return this.#run(claim, source)
  }

  /** Values that the other table had and has no more; null when there are none. */
  async #orphaned({ targetColumn }: ReferenceClaim, there: Tonight): Promise<string | null> {
    if (there.changed === null || !there.saysWhichAreNew) return null
    const column = quoteIdentifier(targetColumn)
    const values = (where: string) =>
      `select distinct ${column} as value from ${there.changed} where ${where}`
    const gone = await this.#temporaries.keep(
      `select value from (${values(`not ${IS_NEW}`)}) as before anti join (${values(IS_NEW)}) as now using (value)`,
    )
    if ((await rowsIn(this.#warehouse, gone)) === 0) return null
    const lost = await this.#temporaries.keep(
      `select value from ${gone} as gone
       anti join ${this.#temporaries.main(there.name)} as kept on kept.${column} = gone.value`,
    )
    return (await rowsIn(this.#warehouse, lost)) === 0 ? null : lost
  }

  async #runFile(check: ProjectCheck): Promise<CheckOutcome> {
    const reads = this.#readsOf(check)
    const select = check.scope.length === 0 ? null : touchedGroups(reads, check.scope, check.words)
    if (select === null) return runCheck(this.#warehouse, check)
    const groups = await this.#temporaries.keep(`select distinct * from (${select})`)
    const narrowed = reads.filter((table) => hasColumns(table, check.scope))
    // The rows of touched people are at hand; they serve where every table has them, so that all show the same people.
    const areAtHand =
      check.scope.join() === PERSON && narrowed.every(({ rowsOfPeople }) => rowsOfPeople !== null)
    for (const { name, rowsOfPeople } of narrowed) {
      const kept = `select kept.* from ${this.#temporaries.main(name)} as kept ${semiJoin('kept', groups, check.scope)}`
      await this.#temporaries.shadow(name, areAtHand ? `select * from ${rowsOfPeople}` : kept)
    }
    const outcome = await runCheck(this.#warehouse, check)
    await this.#temporaries.unshadow()
    await this.#temporaries.drop(groups)
    return outcome
  }

  async #run(claim: Claim, source: string): Promise<CheckOutcome> {
    return runCheck(this.#warehouse, checkOf(claim, source))
  }

  #rowsLikeNew({ table, columns }: KeyClaim, changed: string): string {
    const fresh = `(select * from ${changed} where ${IS_NEW})`
    return `(select kept.* from ${this.#temporaries.main(table)} as kept ${semiJoin('kept', fresh, columns)})`
  }
}

function newRows(changed: string, { saysWhichAreNew }: Tonight): string {
  return saysWhichAreNew ? `(select * from ${changed} where ${IS_NEW})` : changed
}
