/** Records with defaults, and a journal in a temporary folder. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openJournal, type Journal } from '../../src/journal/journal.ts'
import type {
  BatchFinished,
  JournalRecord,
  PageReceived,
  RequestSent,
  RunStarted,
  BatchRecord,
} from '../../src/journal/records.ts'
import { rewriteSeals } from '../../src/journal/seals.ts'
import type { Clock } from '../../src/support/clock.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'

export const RUN = '01JD0000000000000000000000'

export function aBatch(fields: Partial<BatchRecord> = {}): BatchRecord {
  return {
    batch_id: 's1',
    organizations: [{ by: 'id', value: 'org_1' }],
    days_ago: 7,
    event_types: ['joined', 'left', 'title_change'],
    ...fields,
  }
}

export function aStart(fields: Partial<RunStarted> = {}): RunStarted {
  return {
    kind: 'run_started',
    run_id: RUN,
    at: 1,
    pipeline: 'nightly',
    command: 'run',
    organizations: 1,
    batches: 1,
    credits_limit: null,
    question_sha256: 'q',
    ...fields,
  }
}

export function aRequest(number: number, fields: Partial<RequestSent> = {}): RequestSent {
  return {
    kind: 'request_sent',
    run_id: RUN,
    batch_id: 's1',
    page: number,
    request_id: `r${number}`,
    at: number,
    ...fields,
  }
}

export function aPage(page: number, fields: Partial<PageReceived> = {}): PageReceived {
  return {
    kind: 'page_received',
    run_id: RUN,
    batch_id: 's1',
    page,
    request_id: `r${page}`,
    requested_at: page,
    at: page,
    server_at: 1_000 + page,
    status: 200,
    events: 50,
    credits_used: 10,
    has_more: true,
    body_sha256: 'b',
    seen: [],
    ...fields,
  }
}

/** A finished batch. It names no pages, so none are missing. */
export function aFinish(fields: Partial<BatchFinished> = {}): BatchFinished {
  return {
    kind: 'batch_finished',
    run_id: RUN,
    batch_id: 's1',
    at: 0,
    pages: 0,
    events: 1,
    covered_from: null,
    covered_to: 0,
    ...fields,
  }
}

/** A journal in a new folder. */
export function aJournal(segmentBytes?: number, clock: Clock = virtualClock()): Journal {
  return openJournal(join(temporaryFolder(), 'journal'), clock, segmentBytes)
}

/** A record and its payload: JSON, or a text as it is. */
export type Entry = readonly [JournalRecord, unknown?]

/** Adds a segment with these records, and returns its path. */
export async function writeRecords(journal: Journal, entries: readonly Entry[]): Promise<string> {
  const writer = journal.writer()
  for (const [record, payload] of entries) {
    const isText = payload === undefined || typeof payload === 'string'
    writer.write(record, isText ? payload : JSON.stringify(payload))
  }
  await writer.close()
  return join(journal.folder, journal.segments().at(-1)!)
}

/** Every record of a journal except its seals, with its payload as text. */
export function contentOf(journal: Journal): { record: JournalRecord; payload: string }[] {
  return journal
    .segments()
    .flatMap((segment) =>
      [...journal.read(segment)].map((frame) => ({
        record: frame.record,
        payload: frame.payload().toString('utf8'),
      })),
    )
    .filter(({ record }) => record.kind !== 'seal')
}

/** The page numbers in a journal, in order. */
export function pagesOf(journal: Journal): number[] {
  return contentOf(journal).flatMap(({ record }) =>
    record.kind === 'page_received' ? [record.page] : [],
  )
}

/** Removes all segments from the list of seals, as if their processes had been killed before closing them. */
export function unlist(folder: string): void {
  rewriteSeals(folder, [])
}

/**
 * The only segment of a journal: its path, and its bytes to read and change. A changed segment leaves the list of
 * seals, as if its process had been killed.
 */
export function onlySegment(journal: Journal) {
  const [name, ...others] = journal.segments()
  if (name === undefined || others.length > 0)
    throw new Error(`segments: ${journal.segments().join()}`)
  const path = join(journal.folder, name)
  return {
    name,
    path,
    bytes: () => readFileSync(path),
    set: (bytes: Uint8Array) => {
      writeFileSync(path, bytes)
      unlist(journal.folder)
    },
  }
}
