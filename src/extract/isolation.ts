/**
 * What is done when the service refuses a batch because of a company that it does not track: that company is found and
 * left out, and all others stay together in one batch. Found by the words of the service where it names it; else by free
 * tests (see untracked-search.ts); where the service does not answer these, by halving the batch.
 *
 * Every company that is left out makes the batch a new one in the journal, so that a killed run goes on from there.
 */

import { BadRequestError } from '../api/errors.ts'
import { shortened } from '../api/schemas.ts'
import { organizationName, type OrganizationRef, type BatchRecord } from '../journal/records.ts'
import { isAboutCompany, namedCompanies } from './named-companies.ts'
import type { BoughtPage, PageBuyer } from './page-buyer.ts'
import { halve, partOf } from './split.ts'
import { findUntracked, type UntrackedSearch } from './untracked-search.ts'

/** What isolating companies needs. */
export interface IsolationOptions {
  readonly buyer: Pick<PageBuyer, 'buy' | 'accepts'>
  /** Names of organisations that the service accepted before. */
  readonly accepted: ReadonlySet<string>
  /** Notes that a company is left out, and why. */
  leaveOut(organization: OrganizationRef, reason: string): Promise<void>
  /** Notes that a batch is replaced by others, of which none is being read yet. */
  replace(batch: BatchRecord, instead: readonly BatchRecord[], reason: string): Promise<void>
}

/** A batch to go on with. */
export interface IsolatedBatch {
  readonly batch: BatchRecord
  /** Its first page, when it was bought already. */
  readonly firstPage: BoughtPage | null
}

/** Isolates the untracked companies of one run. */
export interface Isolator {
  /**
   * Deals with a refused batch.
   * @returns what is to be read instead; nothing when no company is left
   * @throws BadRequestError when the refusal is not about a company
   * @throws what PageBuyer.buy throws
   */
  isolate(batch: BatchRecord, refusal: BadRequestError): Promise<readonly IsolatedBatch[]>
}

/** An isolator for one run. */
export function createIsolator(options: IsolationOptions): Isolator {
  const known: Knowledge = {
    accepted: new Set(options.accepted),
    untracked: new Set(),
    testsAreAnswered: true,
  }
  return {
    isolate: (batch, refusal) => new Isolation(batch, refusal, known, options).run(),
  }
}

/** What the batches of a run have shown. */
interface Knowledge {
  readonly accepted: Set<string>
  readonly untracked: Set<string>
  /** False once the service did not answer a free test in the way that tests need. */
  testsAreAnswered: boolean
}

class Isolation {
  readonly #root: BatchRecord
  readonly #known: Knowledge
  readonly #options: IsolationOptions
  /** The batch as it stands in the journal. */
  #batch: BatchRecord
  #refusal: BadRequestError
  #replacements = 0

  constructor(
    batch: BatchRecord,
    refusal: BadRequestError,
    known: Knowledge,
    options: IsolationOptions,
  ) {
    this.#root = batch
    this.#batch = batch
    this.#refusal = refusal
    this.#known = known
    this.#options = options
  }

  async run(): Promise<readonly IsolatedBatch[]> {
    for (;;) {
      const named = await this.#toldUntracked()
      if (named.length === 0) break
      for (const organization of named) await this.#leaveOut(organization)
      const isLeft = (organization: OrganizationRef) => !named.includes(organization)
      const answer = await this.#ask(this.#batch.organizations.filter(isLeft))
      if (answer !== 'refused') return answer
    }
    if (!isAboutCompany(this.#refusal.serverMessage)) throw this.#refusal
    return this.#search()
  }

  /** Companies that another batch of the run, or the message, says are not tracked. */
  async #toldUntracked(): Promise<OrganizationRef[]> {
    const { organizations } = this.#batch
    const found = organizations.filter((organization) =>
      this.#known.untracked.has(organizationName(organization)),
    )
    if (found.length > 0) return found
    const named = namedCompanies(this.#refusal.serverMessage, organizations)
    const [first, second] = named.certain
    // A message that names everybody may only repeat the question.
    if (
      first !== undefined &&
      second !== undefined &&
      named.certain.length === organizations.length
    ) {
      return (await this.#test([first])) === false ? organizations.slice() : []
    }
    const untracked = [...named.certain]
    for (const organization of named.doubtful) {
      if ((await this.#test([organization])) === false) untracked.push(organization)
    }
    return untracked
  }

  async #search(): Promise<readonly IsolatedBatch[]> {
    const all = this.#batch.organizations
    const isAccepted = (organization: OrganizationRef) =>
      this.#known.accepted.has(organizationName(organization))
    const search = findUntracked(
      all.filter((organization) => !isAccepted(organization)),
      all.filter(isAccepted),
    )
    const answer = await this.#follow(search, all)
    return answer ?? this.#halve()
  }

  /** Sends what a search asks. Null when the service does not answer as a search needs it. */
  async #follow(
    search: UntrackedSearch<OrganizationRef>,
    all: readonly OrganizationRef[],
  ): Promise<readonly IsolatedBatch[] | null> {
    let answer: readonly IsolatedBatch[] | 'refused' = 'refused'
    let step = search.next()
    while (step.done !== true) {
      const inquiry = step.value
      if (inquiry.kind === 'test') {
        const isAccepted = await this.#test(inquiry.companies)
        if (isAccepted === null) return null
        step = search.next(isAccepted)
      } else {
        for (const organization of inquiry.proven) await this.#leaveOut(organization)
        answer = await this.#ask(all.filter((company) => !inquiry.without.includes(company)))
        if (answer === 'refused' && !isAboutCompany(this.#refusal.serverMessage))
          throw this.#refusal
        step = search.next(answer !== 'refused')
      }
    }
    if (answer === 'refused') return null
    for (const organization of step.value.untracked) await this.#leaveOut(organization)
    return answer
  }

  /** Whether these companies are accepted, for free; null when the service does not say. */
  async #test(companies: readonly OrganizationRef[]): Promise<boolean | null> {
    if (!this.#known.testsAreAnswered) return null
    const isAccepted = await this.#options.buyer.accepts(this.#batch, companies)
    if (isAccepted === null) this.#known.testsAreAnswered = false
    if (isAccepted === true) this.#accept(companies)
    return isAccepted
  }

  /** Asks for the first page of what is left. */
  async #ask(
    organizations: readonly OrganizationRef[],
  ): Promise<readonly IsolatedBatch[] | 'refused'> {
    const reason = shortened(this.#refusal.serverMessage)
    if (organizations.length === 0) {
      await this.#options.replace(this.#batch, [], reason)
      return []
    }
    this.#replacements += 1
    const rest = partOf(this.#root, this.#replacements, organizations)
    await this.#options.replace(this.#batch, [rest], reason)
    this.#batch = rest
    try {
      const firstPage = await this.#options.buyer.buy(rest, 1)
      this.#accept(organizations)
      return [{ batch: rest, firstPage }]
    } catch (error) {
      if (!(error instanceof BadRequestError)) throw error
      this.#refusal = error
      return 'refused'
    }
  }

  async #halve(): Promise<readonly IsolatedBatch[]> {
    const isLeft = (organization: OrganizationRef) =>
      !this.#known.untracked.has(organizationName(organization))
    const rest = { ...this.#batch, organizations: this.#root.organizations.filter(isLeft) }
    const [only, another] = rest.organizations
    if (only !== undefined && another === undefined) await this.#leaveOut(only)
    const instead = another === undefined ? [] : halve(rest)
    await this.#options.replace(this.#batch, instead, shortened(this.#refusal.serverMessage))
    return instead.map((batch) => ({ batch, firstPage: null }))
  }

  async #leaveOut(organization: OrganizationRef): Promise<void> {
    const name = organizationName(organization)
    if (this.#known.untracked.has(name)) return
    this.#known.untracked.add(name)
    await this.#options.leaveOut(organization, shortened(this.#refusal.serverMessage))
  }

  #accept(organizations: readonly OrganizationRef[]): void {
    for (const organization of organizations) {
      this.#known.accepted.add(organizationName(organization))
    }
  }
}
