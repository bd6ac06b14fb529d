/** The simulator's own account: what was asked, answered and charged. Ledgers are compared with it. */

/** One request as the simulator saw it. A null means that the request did not get far enough to say. */
export interface AccountEntry {
  readonly at: string
  /** The API key, when it is one that the simulator knows. */
  readonly key: string | null
  /** How many organisations the request named; 0 asks for all. */
  readonly organizations: number | null
  readonly event_type: string | null
  readonly days_ago: number | null
  readonly page: number | null
  readonly limit: number | null
  /** Null when the connection was reset instead of an answer. */
  readonly status: number | null
  readonly events: number
  /** What was charged, which a fault may make differ from what the body says. */
  readonly credits_used: number
  /** The action of the fault that struck, such as `cut`. */
  readonly fault: string | null
}

/** Totals since the start, and the last requests, oldest first. */
export interface Account {
  readonly requests: number
  /** Requests by status; `none` are the ones without an answer. */
  readonly by_status: Readonly<Record<string, number>>
  readonly charged_pages: number
  readonly credits: number
  readonly log: readonly AccountEntry[]
}

const LOG_SIZE = 100_000

export class Bookkeeper {
  readonly #byStatus: Record<string, number> = {}
  #log: AccountEntry[] = []
  #requests = 0
  #chargedPages = 0
  #credits = 0

  record(entry: AccountEntry): void {
    const { status, credits_used: credits } = entry
    const name = String(status ?? 'none')
    this.#requests += 1
    this.#chargedPages += credits > 0 ? 1 : 0
    this.#credits += credits
    this.#byStatus[name] = (this.#byStatus[name] ?? 0) + 1
    this.#log.push(entry)
    // Dropping half at a time keeps recording cheap.
    if (this.#log.length > 2 * LOG_SIZE) this.#log = this.#log.slice(-LOG_SIZE)
  }

  account(): Account {
    return {
      requests: this.#requests,
      by_status: { ...this.#byStatus },
      charged_pages: this.#chargedPages,
      credits: this.#credits,
      log: this.#log.slice(-LOG_SIZE),
    }
  }
}
