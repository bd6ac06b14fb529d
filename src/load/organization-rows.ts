/**
 * What records say of organisations, as rows to be staged: who was asked and when, who was refused, ids learnt, and for
 * whom each page was paid. Apart from the rest of a chunk, because a warehouse of an earlier version reads the journal again for these
 * tables, and only for them.
 */

import { eventOrganizations, parsePage } from '../api/schemas.ts'
import { payloadOf } from '../journal/history.ts'
import type { PlacedFrame } from '../journal/reader.ts'
import {
  organizationName,
  type OrganizationLearnt,
  type OrganizationQuarantined,
  type PageReceived,
  type BatchFinished,
  type BatchRecord,
} from '../journal/records.ts'
import type { SqlValue } from '../warehouse/warehouse.ts'

type Row = Readonly<Record<string, SqlValue>>

/** When an organisation was asked, first and last, by milliseconds since 1970 UTC. */
interface Asked {
  first: number
  last: number
}

/** Rows about organisations that wait to be merged. */
export class OrganizationRows {
  /** Columns of ops.page_organizations. */
  readonly pages = {
    request_id: [] as string[],
    organization_id: [] as string[],
    events: [] as number[],
  }
  readonly #ids = new Map<string, OrganizationLearnt>()
  readonly #asked = new Map<string, Asked>()
  readonly #quarantined = new Map<string, OrganizationQuarantined>()

  /** Rows gathered, roughly; those of pages are never more than the events in them. */
  get size(): number {
    return this.#asked.size
  }

  /** Rows of ops.organization_ids. */
  get ids(): Row[] {
    return [...this.#ids].map(([asked_as, { organization_id, run_id, at }]) => ({
      asked_as,
      organization_id,
      run_id,
      learnt_at: new Date(at),
    }))
  }

  /** Rows of ops.organizations_asked. */
  get asked(): Row[] {
    return [...this.#asked].map(([asked_as, { first, last }]) => ({
      asked_as,
      first_asked_at: new Date(first),
      last_asked_at: new Date(last),
    }))
  }

  /** Rows of ops.organizations_quarantined. */
  get quarantined(): Row[] {
    return [...this.#quarantined].map(([organization, { reason, run_id, at }]) => ({
      organization,
      reason,
      run_id,
      quarantined_at: new Date(at),
    }))
  }

  /** Adds what one record says of organisations; most say nothing. */
  add(frame: PlacedFrame): void {
    const { record } = frame
    if (record.kind === 'organization_learnt') this.learn(record)
    if (record.kind === 'organization_quarantined') this.leaveOut(record)
    if (record.kind === 'batch_finished') this.addBatch(record, payloadOf<BatchRecord>(frame))
    if (record.kind === 'page_received') {
      this.addPage(record, () => {
        const page = parsePage(frame.payload())
        return typeof page === 'string' ? [] : page.events
      })
    }
  }

  /** Adds an id that became known. The newest wins, in whatever order they come. */
  learn(record: OrganizationLearnt): void {
    const name = organizationName(record.organization)
    const known = this.#ids.get(name)
    if (known !== undefined && !isNewer(record, known)) return
    this.#ids.set(name, record)
  }

  /** Adds a refusal. The newest wins. */
  leaveOut(record: OrganizationQuarantined): void {
    const name = organizationName(record.organization)
    if ((this.#quarantined.get(name)?.at ?? 0) <= record.at) this.#quarantined.set(name, record)
  }

  /** Adds the organisations of a batch that was read to its end. */
  addBatch({ at }: BatchFinished, { organizations }: BatchRecord): void {
    for (const organization of organizations) {
      const name = organizationName(organization)
      const known = this.#asked.get(name)
      if (known === undefined) {
        this.#asked.set(name, { first: at, last: at })
        continue
      }
      known.first = Math.min(known.first, at)
      known.last = Math.max(known.last, at)
    }
  }

  /** Adds the organisations of a page; `events` is only asked where the record does not name them. */
  addPage(record: PageReceived, events: () => readonly unknown[]): void {
    const { request_id: requestId, seen } = record
    for (const [organizationId, count] of seen ?? countOrganizations(events())) {
      this.pages.request_id.push(requestId)
      this.pages.organization_id.push(organizationId)
      this.pages.events.push(count)
    }
  }
}

function isNewer(one: OrganizationLearnt, other: OrganizationLearnt): boolean {
  return one.at > other.at || (one.at === other.at && one.organization_id > other.organization_id)
}

// Also of events that do not fit otherwise: they are paid for like the others.
function countOrganizations(events: readonly unknown[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { organization_id: id } of eventOrganizations(events)) {
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return counts
}
