/** A data directory written record by record, and the commands that show it. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createContext, type Context } from '../../src/cli/context.ts'
import { conclude, type Output } from '../../src/cli/output.ts'
import { reportDocument, reportText, type Result } from '../../src/cli/report.ts'
import { openJournal, type JournalWriter } from '../../src/journal/journal.ts'
import { load } from '../../src/load/load.ts'
import type { ExitCode } from '../../src/support/errors.ts'
import { createScrubber } from '../../src/support/logger.ts'
import { withWarehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder, type OnEnd } from '../helpers/temporary-folder.ts'
import { aPage, handClock, segment, type PageChoices } from '../load/load-fixture.ts'

/** The output of a command: text for people, and parsed JSON. */
export interface Shown {
  readonly exitCode: ExitCode
  readonly text: string
  readonly document: Record<string, unknown>
}

/** A data directory of a test. */
export type LedgerSite = ReturnType<typeof ledgerSite>

/** An empty data directory. @param nowMs milliseconds since 1970 UTC @param onEnd as for temporaryFolder */
export function ledgerSite(nowMs: number, onEnd?: OnEnd) {
  const folder = temporaryFolder(onEnd)
  const clock = handClock(nowMs)
  const journal = openJournal(join(folder, 'journal'), clock)
  const warehouse = join(folder, 'jobtide.duckdb')
  return {
    folder,
    warehouse,
    clock,
    /** Adds a segment to the journal. */
    journal: (write: (writer: JournalWriter) => void) => segment(journal, write),
    /** Loads the journal into the warehouse. */
    async load(): Promise<void> {
      await withWarehouse({ path: warehouse, mode: 'write', threads: 1 }, (open) =>
        load({ warehouse: open, journal }),
      )
    },
    /** Writes a pipeline file named `name` over these organisations; returns its path. */
    pipeline(
      name: string,
      organizations: readonly string[],
      lines: readonly string[] = [],
    ): string {
      const header = 'organization_id,company_url'
      const rows = organizations.map((one) => (one.startsWith('org_') ? one : `,${one}`))
      writeFileSync(join(folder, `${name}.csv`), [header, ...rows, ''].join('\n'))
      const path = join(folder, `${name}.yaml`)
      const window = lines.some((line) => line.startsWith('window:')) ? [] : ['window: since-last']
      const text = [`name: ${name}`, `organizations: ${name}.csv`, ...window, ...lines]
      writeFileSync(path, `${text.join('\n')}\n`)
      return path
    },
    /** Calls a command on a terminal of 80 columns. */
    async show(
      command: (context: Context) => Promise<Result>,
      environment: Readonly<Record<string, string>> = {},
    ): Promise<Shown> {
      let text = ''
      let document = '{}'
      const output: Output = {
        ...SILENT,
        report(report) {
          text = reportText(report, SILENT.columns)
          document = JSON.stringify(reportDocument(report))
        },
      }
      const signal = new AbortController().signal
      const context = createContext(
        { dataDir: folder, logLevel: 'silent' },
        {
          environment,
          startedWith: environment,
          clock,
          random: () => 0.5,
          scrubber: createScrubber(),
          output,
          log: null,
          logFields: {},
          stop: signal,
          abort: signal,
        },
      )
      const exitCode = conclude(output, await command(context))
      return { exitCode, text, document: JSON.parse(document) as Record<string, unknown> }
    },
  }
}

const SILENT: Output = {
  json: false,
  isTerminal: false,
  columns: 80,
  paint: (_, text) => text,
  canRedraw: false,
  redraw: () => undefined,
  report: () => undefined,
  stream: () => Promise.resolve(true),
  note: () => undefined,
  write: () => undefined,
  problem: () => undefined,
  failure: () => 1,
}

let requests = 0

/** Writes a request, just before it is sent; returns its id. */
export function sendRequest(
  writer: JournalWriter,
  at: number,
  { runId = 'run_1', page = 1 }: PageChoices = {},
): string {
  requests += 1
  const requestId = `sent_${String(requests).padStart(6, '0')}`
  const batch = { run_id: runId, batch_id: '0001', page }
  writer.write({ kind: 'request_sent', ...batch, request_id: requestId, at })
  return requestId
}

/** Writes a request and its page. */
export function buyPage(
  writer: JournalWriter,
  events: readonly unknown[],
  choices: PageChoices & { readonly at: number },
): void {
  const requestId = sendRequest(writer, choices.at - 200, choices)
  const { record, body } = aPage(events, { ...choices, requestId })
  writer.write(record, body)
}

/** Writes a failed request, which may have been charged. */
export function failRequest(
  writer: JournalWriter,
  at: number,
  inDoubt: boolean,
  choices: PageChoices = {},
): void {
  const requestId = sendRequest(writer, at, choices)
  writer.write({
    kind: 'request_failed',
    run_id: choices.runId ?? 'run_1',
    batch_id: '0001',
    page: choices.page ?? 1,
    request_id: requestId,
    requested_at: at,
    at: at + 50,
    status: inDoubt ? null : 503,
    error: 'what went wrong',
    in_doubt: inDoubt,
  })
}
