/** `diff`: what changed between two snapshots, and with `--table` in which rows. */

import { diffSnapshots, type SnapshotDiff, type TableDiff } from '../publish/diff/diff.ts'
import type { ChangedColumn, ChangedRow } from '../publish/diff/diff-table.ts'
import { openSnapshot, type OpenSnapshot } from '../publish/read-snapshot.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import type { Context } from './context.ts'
import { passingFolder } from './passing-folder.ts'
import { bytesText, countText, numberText, printable, tableText, wrapText } from './text.ts'
import { storeOptionsFor, type VerifyOptions } from './verify-command.ts'

/** Options of `diff`. */
export interface DiffOptions extends VerifyOptions {
  /** Show the rows of this table, and nothing of others. */
  readonly table?: string
  /** How many rows to show. */
  readonly limit: number
}

/**
 * `diff`.
 * @param before a destination, or `<destination>/snapshots/<snapshot id>`
 * @param after the same; the two may be in different places
 */
export async function diffCommand(
  context: Context,
  before: string,
  after: string,
  options: DiffOptions,
): Promise<ExitCode> {
  const { output, progress, stop } = context
  const { table, limit } = options
  const [a, b] = [
    await openSnapshot(before, storeOptionsFor(context, before, options)),
    await openSnapshot(after, storeOptionsFor(context, after, options)),
  ]
  try {
    const diff = await diffSnapshots({
      before: a,
      after: b,
      scratchFolder: passingFolder('diff'),
      ...(table === undefined ? {} : { rows: { table, limit } }),
      signal: stop,
      onProgress: (step) => progress.show({ stage: 'diff', ...step }),
    })
    progress.stop()
    output.text(textOf(diff, a, b, output.columns))
    output.document(documentOf(diff, a, b))
    return EXIT.done
  } finally {
    progress.stop()
  }
}

function textOf(diff: SnapshotDiff, a: OpenSnapshot, b: OpenSnapshot, columns: number): string {
  const { tables, rows } = diff
  const differing = tables.filter(isDifferent)
  const head = [
    `before  ${a.manifest.snapshot_id} of ${a.manifest.created_at}`,
    `after   ${b.manifest.snapshot_id} of ${b.manifest.created_at}`,
  ]
  const equal = tables.length - differing.length
  if (differing.length === 0)
    return [...head, `no difference in ${countText(equal, 'table')}`].join('\n')
  const lines = [...head, '', countsText(differing, columns)]
  if (equal > 0) lines.push(`no difference in ${countText(equal, 'other table')}`)
  const notes = differing.flatMap(notesOf)
  if (notes.length > 0) lines.push('', ...notes.map((note) => wrapText(note, columns, '')))
  if (rows !== null) lines.push('', rowsText(rows, differing[0], columns))
  return lines.join('\n')
}

function isDifferent(table: TableDiff): boolean {
  const { counts, rowsBefore, rowsAfter } = table
  return (
    counts === null ||
    counts.added + counts.removed + counts.changed > 0 ||
    rowsBefore === null ||
    rowsAfter === null ||
    table.columnsAdded.length + table.columnsRemoved.length + table.columnsRetyped.length > 0
  )
}

function countsText(tables: readonly TableDiff[], width: number): string {
  const rows = tables.map(({ name, counts, rowsAfter, bytesAdded, bytesRemoved }) => [
    name,
    ...(counts === null
      ? ['?', '?', '?']
      : [counts.added, counts.removed, counts.changed].map(numberText)),
    rowsAfter === null ? '-' : numberText(rowsAfter),
    bytesText(bytesAdded),
    bytesText(bytesRemoved),
  ])
  const head = ['table', 'added', 'removed', 'changed', 'rows now', 'new', 'gone']
  return tableText(head, rows, { width, numeric: [false, true, true, true, true, true, true] })
}

function notesOf(table: TableDiff): string[] {
  const { name, rowsBefore, rowsAfter, counts } = table
  const notes: string[] = []
  if (rowsBefore === null) notes.push(`${name} is only in the snapshot after`)
  else if (rowsAfter === null) notes.push(`${name} is only in the snapshot before`)
  else if (counts === null) {
    notes.push(`${name} has another key: which row became which cannot be told`)
  }
  const named = (what: string, columns: readonly string[]) => {
    if (columns.length > 0) notes.push(`${name}: ${what} ${columns.join(', ')}`)
  }
  named('only the snapshot after has', table.columnsAdded)
  named('only the snapshot before has', table.columnsRemoved)
  named('another type, compared as text:', table.columnsRetyped)
  return notes
}

const SIGNS = { added: '+', removed: '-', changed: '~' } as const

function rowsText(
  rows: readonly ChangedRow[],
  table: TableDiff | undefined,
  columns: number,
): string {
  const { added = 0, removed = 0, changed = 0 } = table?.counts ?? {}
  const all = added + removed + changed
  const more = all > rows.length ? [`… ${numberText(all - rows.length)} more: --limit`] : []
  return [...rows.map((row) => rowText(row, columns)), ...more].join('\n')
}

function rowText({ change, key, columns }: ChangedRow, width: number): string {
  const names = Object.entries(key).map(([name, value]) => `${name} ${valueText(value)}`)
  const head = `${SIGNS[change]} ${wrapText(names.join(', '), width, '  ').trimStart()}`
  if (change !== 'changed') return head
  return [head, ...columns.map((column) => columnText(column, width))].join('\n')
}

function columnText({ name, before, after }: ChangedColumn, width: number): string {
  return wrapText(`${name}: ${valueText(before)} → ${valueText(after)}`, width, '    ')
}

function valueText(value: unknown): string {
  return printable(JSON.stringify(value) ?? 'null')
}

function documentOf(
  { tables, rows }: SnapshotDiff,
  before: OpenSnapshot,
  after: OpenSnapshot,
): Record<string, unknown> {
  const side = ({ store, manifest }: OpenSnapshot) => ({
    snapshot_id: manifest.snapshot_id,
    created_at: manifest.created_at,
    destination: store.destination,
  })
  return {
    before: side(before),
    after: side(after),
    tables: tables.map((table) => ({
      name: table.name,
      rows_before: table.rowsBefore,
      rows_after: table.rowsAfter,
      rows_added: table.counts?.added ?? null,
      rows_removed: table.counts?.removed ?? null,
      rows_changed: table.counts?.changed ?? null,
      bytes_added: table.bytesAdded,
      bytes_removed: table.bytesRemoved,
      columns_added: table.columnsAdded,
      columns_removed: table.columnsRemoved,
      columns_retyped: table.columnsRetyped,
    })),
    rows,
  }
}
