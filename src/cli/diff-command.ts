/** `diff`: what changed between two snapshots, and with `--table` in which rows. */

import { diffSnapshots, type ChangedRow, type TableDiff } from '../publish/diff.ts'
import { openSnapshot, type OpenSnapshot } from '../publish/read-snapshot.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import type { Context } from './context.ts'
import { table } from './report.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { countText, numberText, printable } from './text.ts'
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
  const a = await openSnapshot(before, storeOptionsFor(context, before, options))
  const b = await openSnapshot(after, storeOptionsFor(context, after, options))
  const { tables, rows } = await diffSnapshots({
    before: a,
    after: b,
    scratchFolder: temporaryFolder('diff'),
    ...(options.table === undefined
      ? {}
      : { rows: { table: options.table, limit: options.limit } }),
    signal: stop,
    onProgress: (step) => progress.show({ stage: 'diff', ...step }),
  }).finally(() => progress.stop())
  const changed = tables.filter(isDifferent)
  const equal = tables.length - changed.length
  output.report({
    sections: [
      [
        ['before', snapshotText(a)],
        ['after', snapshotText(b)],
      ],
      table(
        null,
        changed,
        [
          ['table', 'name'],
          ['added', 'rows_added', 'number'],
          ['removed', 'rows_removed', 'number'],
          ['changed', 'rows_changed', 'number'],
          ['rows now', 'rows_after', 'number'],
          ['new', 'bytes_added', 'bytes'],
          ['gone', 'bytes_removed', 'bytes'],
        ],
        { notes: equal > 0 ? [`no difference in ${countText(equal, 'other table')}`] : [] },
      ),
    ],
    notes: [
      ...(changed.length === 0 ? [`no difference in ${countText(equal, 'table')}`] : []),
      ...withBlankLine(changed.flatMap(notesOf)),
      ...withBlankLine(rows === null ? [] : rowNotes(rows, changed[0])),
    ],
    values: { before: snapshotValues(a), after: snapshotValues(b), tables, rows },
  })
  return EXIT.done
}

function isDifferent(row: TableDiff): boolean {
  return (
    row.rows_before === null ||
    row.rows_after === null ||
    [row.rows_added, row.rows_removed, row.rows_changed].some((count) => count !== 0) ||
    [row.columns_added, row.columns_removed, row.columns_retyped].some(({ length }) => length > 0)
  )
}

function snapshotValues({ manifest, store }: OpenSnapshot) {
  const { snapshot_id: id, created_at: createdAt } = manifest
  return { snapshot_id: id, created_at: createdAt, destination: store.destination }
}

function snapshotText({ manifest }: OpenSnapshot): string {
  return `${manifest.snapshot_id} of ${manifest.created_at}`
}

function withBlankLine(notes: readonly string[]): readonly string[] {
  return notes.length === 0 ? [] : ['', ...notes]
}

function notesOf(row: TableDiff): string[] {
  const { name } = row
  const presence =
    row.rows_before === null
      ? [`${name} is only in the snapshot after`]
      : row.rows_after === null
        ? [`${name} is only in the snapshot before`]
        : row.rows_added === null
          ? [`${name} has another key: which row became which cannot be told`]
          : []
  const columns = [
    ['only the snapshot after has', row.columns_added],
    ['only the snapshot before has', row.columns_removed],
    ['another type, compared as text:', row.columns_retyped],
  ] as const
  return [
    ...presence,
    ...columns
      .filter(([, found]) => found.length > 0)
      .map(([what, found]) => `${name}: ${what} ${found.join(', ')}`),
  ]
}

const SIGNS = { added: '+', removed: '-', changed: '~' } as const

function rowNotes(rows: readonly ChangedRow[], row: TableDiff | undefined): string[] {
  const all = (row?.rows_added ?? 0) + (row?.rows_removed ?? 0) + (row?.rows_changed ?? 0)
  const notes = rows.flatMap(({ change, key, columns }) => {
    const names = Object.entries(key).map(([name, value]) => `${name} ${valueText(value)}`)
    const head = `${SIGNS[change]} ${names.join(', ')}`
    if (change !== 'changed') return [head]
    const changes = columns.map(
      ({ name, before, after }) => `    ${name}: ${valueText(before)} → ${valueText(after)}`,
    )
    return [head, ...changes]
  })
  return all > rows.length ? [...notes, `… ${numberText(all - rows.length)} more: --limit`] : notes
}

function valueText(value: unknown): string {
  return printable(JSON.stringify(value) ?? 'null')
}
