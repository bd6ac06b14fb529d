/**
 * `verify`: proves again that every byte of the journal is as it was sealed, where there is one, and a published snapshot,
 * listing everything that is not as it was published.
 */

import { s3EndpointFrom } from '../config.ts'
import { openJournal, type Journal } from '../journal/journal.ts'
import type { JournalState } from '../journal/loss.ts'
import type { StoreOptions } from '../publish/store/object-store.ts'
import { openStore } from '../publish/store/open-store.ts'
import { splitSnapshotUrl } from '../publish/snapshot-url.ts'
import type { Finding } from '../publish/verify/verify-findings.ts'
import { verifySnapshot, type VerifyReport } from '../publish/verify/verify.ts'
import { readSnapshotTarget } from '../run/job.ts'
import { EXIT, JobtideError, errorDocument, type ExitCode } from '../support/errors.ts'
import type { Context } from './context.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { refuseEmpty } from './refuse-empty.ts'
import { bytesText, countText, printable, wrapText } from './text.ts'

/** Options of the commands that read snapshots. */
export interface VerifyOptions {
  /** Whose S3 settings to use. */
  readonly pipeline: string
}

/**
 * `verify`: exit code 0 when journal and snapshot are proved, 6 with every finding when the snapshot is not, else 9 when
 * the journal is not.
 * @param url a destination, or `<destination>/snapshots/<snapshot id>`; absent: only the journal is proved
 * @throws JournalLossError when the journal is not, and no snapshot is asked for
 */
export async function verifyCommand(
  context: Context,
  url: string | undefined,
  options: VerifyOptions,
): Promise<ExitCode> {
  const { output, clock, directory } = context
  const journal = openJournal(directory.journal, clock)
  if (url !== undefined) return verifyBoth(context, url, options, journal)
  refuseEmpty(journal, directory)
  const proved = journal.check('bytes')
  output.text(journalText(proved))
  output.document({ is_proved: true, journal: journalDocument(proved) })
  return EXIT.done
}

// What is wrong with the journal here keeps nobody from asking whether a snapshot is whole.
async function verifyBoth(
  context: Context,
  url: string,
  options: VerifyOptions,
  journal: Journal,
): Promise<ExitCode> {
  const proof = proofOf(journal)
  const exitCode = await verifyUrl(context, url, options, proof).catch((error: unknown) => {
    if (proof instanceof JobtideError) context.output.problem(proof)
    throw error
  })
  if (!(proof instanceof JobtideError)) return exitCode
  context.output.problem(proof)
  return exitCode === EXIT.done ? proof.exitCode : exitCode
}

function proofOf(journal: Journal): JournalState | JobtideError {
  try {
    return journal.check('bytes')
  } catch (error) {
    if (error instanceof JobtideError) return error
    throw error
  }
}

async function verifyUrl(
  context: Context,
  url: string,
  options: VerifyOptions,
  journal: JournalState | JobtideError,
): Promise<ExitCode> {
  const { output, clock, progress, stop } = context
  const { destination, snapshotId } = splitSnapshotUrl(url)
  const store = await openStore(destination, storeOptionsFor(context, url, options))
  try {
    const report = await verifySnapshot({
      store,
      snapshotId,
      scratchFolder: temporaryFolder('verify'),
      clock,
      signal: stop,
      onProgress: (step) => progress.show({ stage: 'verify', ...step }),
    })
    progress.stop()
    output.text(textOf(report, store.destination, output.columns))
    const document = documentOf(report, store.destination)
    if (journal instanceof JobtideError) {
      output.document({
        ...document,
        is_proved: false,
        journal: null,
        error: errorDocument(journal),
      })
    } else {
      if (journal.segments > 0) output.text(journalText(journal))
      output.document({ ...document, journal: journalDocument(journal) })
    }
    return report.findings.length === 0 ? EXIT.done : EXIT.checkFailed
  } finally {
    progress.stop()
  }
}

function journalText({ segments, bytes, losses }: JournalState): string {
  const lost =
    losses.size === 0
      ? ''
      : `; what ${countText(losses.size, 'segment')} lost was accepted to be lost`
  return `the journal is proved\n${countText(segments, 'segment')}, ${bytesText(bytes)}: every byte is as it was sealed${lost}`
}

function journalDocument({ segments, bytes, losses }: JournalState): Record<string, unknown> {
  return { segments, bytes, segments_with_accepted_losses: [...losses.keys()] }
}

/** How a store is opened to be read; the pipeline is looked at only for a bucket. */
export function storeOptionsFor(
  { clock, environment, directory }: Context,
  url: string,
  { pipeline }: VerifyOptions,
): StoreOptions {
  const { destination } = splitSnapshotUrl(url)
  if (!destination.startsWith('s3://')) return { clock, access: 'read' }
  const target = readSnapshotTarget(pipeline, { snapshotTo: destination }, directory.root)
  return { clock, s3: target?.s3, s3Endpoint: s3EndpointFrom(environment), access: 'read' }
}

function textOf(report: VerifyReport, destination: string, columns: number): string {
  const { snapshotId, findings } = report
  const what = `${snapshotId === null ? 'the snapshot' : `snapshot ${snapshotId}`} at ${destination}`
  if (findings.length === 0) {
    const { tables, files, rows, bytes } = report
    const parts = [
      countText(tables, 'table'),
      countText(files, 'file'),
      countText(rows, 'row'),
      bytesText(bytes),
    ]
    const proved = `${what} is proved\n${parts.join(', ')}: every byte and row is as published`
    return [proved, ...copiedText(report, columns)].join('\n')
  }
  const blocks = findings.map((finding) => findingText(finding, columns))
  const count = countText(findings.length, 'finding')
  return [`${what}: ${count}`, ...blocks, adviceFor(findings, columns)].join('\n\n')
}

// It is the snapshot, but whoever pastes its views reads the files of the other place.
function copiedText({ copiedFrom }: VerifyReport, columns: number): string[] {
  if (copiedFrom === null) return []
  const text = `It was copied here from ${printable(copiedFrom)}: its views.sql goes on reading the files there.`
  return [wrapText(text, columns, '')]
}

function findingText({ kind, table, object, message }: Finding, columns: number): string {
  const head = table === null ? kind : `${kind}  ${table}`
  return `${head}\n  ${printable(object)}\n${wrapText(printable(message), columns, '  ')}`
}

const BESIDE_IT: ReadonlySet<string> = new Set(['delta', 'extra'])

function adviceFor(findings: readonly Finding[], columns: number): string {
  const advice = findings.every(({ kind }) => BESIDE_IT.has(kind))
    ? 'The snapshot itself is whole: what is wrong stands beside it.'
    : 'Nothing was changed here. Restore the objects from a backup, or use another snapshot: `jobtide snapshots` lists them.'
  return wrapText(advice, columns, '')
}

function documentOf(report: VerifyReport, destination: string): Record<string, unknown> {
  const { snapshotId, copiedFrom, tables, files, rows, bytes, findings } = report
  return {
    snapshot_id: snapshotId,
    destination,
    copied_from: copiedFrom,
    is_proved: findings.length === 0,
    tables,
    files,
    rows,
    bytes,
    findings,
  }
}
