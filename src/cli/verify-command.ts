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
import type { Report } from './report.ts'
import { bytesText, countText, printable } from './text.ts'

/** Options of the commands that read snapshots. */
export interface VerifyOptions {
  /** Whose S3 settings to use. */
  readonly pipeline: string
}

/**
 * `verify`: exit code 0 when journal and snapshot are proved, 6 with every finding when the snapshot is not, else 9 when
 * the journal is not. A snapshot is proved also where the journal is damaged.
 * @param url a destination, or `<destination>/snapshots/<snapshot id>`; absent: only the journal is proved
 * @throws JournalLossError when the journal is not proved, and no snapshot is asked for
 */
export async function verifyCommand(
  context: Context,
  url: string | undefined,
  options: VerifyOptions,
): Promise<ExitCode> {
  const { output, clock, directory } = context
  const journal = openJournal(directory.journal, clock)
  if (url === undefined) {
    refuseEmpty(journal, directory)
    const proved = journal.check('bytes')
    output.report({
      notes: journalNotes(proved),
      values: { is_proved: true, journal: journalValues(proved) },
    })
    return EXIT.done
  }
  const proof = proofOf(journal)
  const isLost = proof instanceof JobtideError
  try {
    const report = await proveUrl(context, url, options)
    output.report(snapshotReport(report, proof))
    if (report.findings.length > 0) return EXIT.checkFailed
    return isLost ? proof.exitCode : EXIT.done
  } finally {
    if (isLost) output.problem(proof)
  }
}

function proofOf(journal: Journal): JournalState | JobtideError {
  try {
    return journal.check('bytes')
  } catch (error) {
    if (error instanceof JobtideError) return error
    throw error
  }
}

interface Proof extends VerifyReport {
  readonly destination: string
}

async function proveUrl(context: Context, url: string, options: VerifyOptions): Promise<Proof> {
  const { progress, stop } = context
  const { destination, snapshotId } = splitSnapshotUrl(url)
  const store = await openStore(destination, storeOptionsFor(context, url, options))
  const report = await verifySnapshot({
    store,
    snapshotId,
    scratchFolder: temporaryFolder('verify'),
    signal: stop,
    onProgress: (step) => progress.show({ stage: 'verify', ...step }),
  }).finally(() => progress.stop())
  return { ...report, destination: store.destination }
}

function journalNotes({ segments, bytes, losses }: JournalState): string[] {
  const lost =
    losses.size === 0
      ? ''
      : `; what ${countText(losses.size, 'segment')} lost was accepted to be lost`
  return [
    'the journal is proved',
    `${countText(segments, 'segment')}, ${bytesText(bytes)}: every byte is as it was sealed${lost}`,
  ]
}

function journalValues({ segments, bytes, losses }: JournalState): Record<string, unknown> {
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

function snapshotReport(proof: Proof, journal: JournalState | JobtideError): Report {
  const { snapshotId, destination, findings, tables, files, rows, bytes, copiedFrom } = proof
  const what = `${snapshotId === null ? 'the snapshot' : `snapshot ${snapshotId}`} at ${destination}`
  const isLost = journal instanceof JobtideError
  const counts = [
    countText(tables, 'table'),
    countText(files, 'file'),
    countText(rows, 'row'),
    bytesText(bytes),
  ]
  const copied =
    copiedFrom === null
      ? []
      : [
          `It was copied here from ${printable(copiedFrom)}: its views.sql goes on reading the files there.`,
        ]
  const notes =
    findings.length === 0
      ? [`${counts.join(', ')}: every byte and row is as published`, ...copied]
      : findings.flatMap(findingNotes).concat('', adviceFor(findings))
  return {
    title:
      findings.length === 0
        ? `${what} is proved`
        : `${what}: ${countText(findings.length, 'finding')}`,
    notes: isLost || journal.segments === 0 ? notes : [...notes, ...journalNotes(journal)],
    values: {
      snapshot_id: snapshotId,
      destination,
      copied_from: copiedFrom,
      is_proved: findings.length === 0 && !isLost,
      tables,
      files,
      rows,
      bytes,
      findings,
      journal: isLost ? null : journalValues(journal),
      ...(isLost ? { error: errorDocument(journal) } : {}),
    },
  }
}

function findingNotes({ kind, table, object, message }: Finding): string[] {
  const head = table === null ? kind : `${kind}  ${table}`
  return ['', head, `  ${printable(object)}`, `  ${printable(message)}`]
}

const BESIDE_IT: ReadonlySet<string> = new Set(['delta', 'stale', 'extra'])

function adviceFor(findings: readonly Finding[]): string {
  return findings.every(({ kind }) => BESIDE_IT.has(kind))
    ? 'The snapshot itself is whole: what is wrong stands beside it.'
    : 'Nothing was changed here. Restore the objects from a backup, or use another snapshot: `jobtide snapshots` lists them.'
}
