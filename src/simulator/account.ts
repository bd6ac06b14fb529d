/** The simulator's own books: what was asked, what was answered, what was charged. Ledgers are compared with it. */

/** One request as the simulator saw it. A null means that the request did not get far enough to say. */
export interface AccountEntry {
  /** Server time, ISO 8601. */
  readonly at: string
  readonly method: string
  readonly path: string
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
  /** Events in the page that was sent. */
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

/** Keeps the account. */
export interface Bookkeeper {
  record(entry: AccountEntry): void
  account(): Account
}

/** Books without entries, which keep the last `logSize` requests in the log (Infinity for all). */
export function createBookkeeper(logSize: number): Bookkeeper {
  const byStatus = new Map<string, number>()
  let log: AccountEntry[] = []
  let requests = 0
  let chargedPages = 0
  let credits = 0
  return {
    record(entry) {
      requests += 1
      if (entry.credits_used > 0) chargedPages += 1
      credits += entry.credits_used
      const status = String(entry.status ?? 'none')
      byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
      log.push(entry)
      // Dropping half at a time keeps recording cheap.
      if (log.length > 2 * logSize) log = log.slice(-logSize)
    },
    account: () => ({
      requests,
      by_status: Object.fromEntries(byStatus),
      charged_pages: chargedPages,
      credits,
      log: log.slice(-logSize),
    }),
  }
}
