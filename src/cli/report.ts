/**
 * The result of a command: title, facts, tables and notes, rendered as text for people and JSON for programs. Pure.
 */

import { styleText } from 'node:util'
import CliTable from 'cli-table3'
import { minuteText } from '../support/clock.ts'
import type { ExitCode, JobtideError } from '../support/errors.ts'
import { toSnakeCase } from '../support/json.ts'
import { bytesText, creditsText, numberText, sum } from '../support/numbers.ts'
import { cut, printable } from '../support/text.ts'

/** The format of a cell for people. Numbers are right-aligned; an `id` and an instant are never cut. */
export type Kind =
  'text' | 'id' | 'count' | 'number' | 'credits' | 'price' | 'bytes' | 'instant' | 'state'

/** A cell. Instants are milliseconds since 1970 UTC, a Date or ISO 8601. */
export type Cell = string | number | Date | null | undefined

/** A column of a table: its heading, the key of a row or what to make of a row, and how it is shown (default `text`). */
export type Column<Row> = readonly [
  head: string,
  of: (keyof Row & string) | ((row: Row) => Cell),
  kind?: Kind,
]

/** A label, what is said of it, in one line or several, and what that means where it is good or bad. False leaves it out. */
export type Fact =
  readonly [label: string, text: string | readonly string[], meaning?: Meaning] | false

/** Facts by their labels. An empty text or list, false, null or undefined leaves a fact out. */
export function facts(
  said: Readonly<Record<string, string | readonly string[] | false | null | undefined>>,
): Fact[] {
  return Object.entries(said).map(([label, text]) =>
    text && text.length > 0 ? [label, text] : false,
  )
}

/** Rows: all of them for programs, and for people as many as `shown`. */
export interface Table {
  readonly heads: readonly string[]
  readonly kinds: readonly Kind[]
  readonly cells: readonly (readonly string[])[]
  /** The JSON key of the rows; null keeps them out of JSON. */
  readonly name: string | null
  readonly rows: readonly object[]
  /** How many rows people do not see, and which option shows them; null where they see all. */
  readonly rest: string | null
}

export type Section = readonly Fact[] | Table

export interface Report {
  readonly title?: string | readonly string[]
  readonly sections?: readonly Section[]
  readonly notes?: readonly string[]
  /** Values for programs in addition to the rows of the tables. Keys of both become snake_case, dates ISO 8601. */
  readonly values?: object
  /** Values passed to programs unchanged, such as an event as sent. */
  readonly data?: object
  /** A problem that is reported after the result, and decides the exit code. */
  readonly problem?: JobtideError | null
  /** Default: that of the problem, else 0. */
  readonly exitCode?: ExitCode
}

/** What a command ends with: its report, or the exit code where it has written its result already. */
export type Result = Report | ExitCode

interface TableChoices<Row> {
  /** How many rows people see; default all. */
  readonly shown?: number
  /** Which option shows the others; default `all with --all`. */
  readonly more?: string
  /** A last row for people only. */
  readonly total?: Row
}

/** A table of rows. @param name the JSON key of the rows, null to keep them out of JSON */
export function table<Row extends object>(
  name: string | null,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  choices: TableChoices<Row> = {},
): Table {
  const { shown = rows.length, more = 'all with --all', total } = choices
  const visible = [...rows.slice(0, shown), ...(total === undefined ? [] : [total])]
  const rest = `(the first ${shown} of ${numberText(rows.length)}; ${more})`
  return {
    name,
    rows,
    heads: columns.map(([head]) => head),
    kinds: columns.map(([, , kind = 'text']) => kind),
    cells: visible.map((row) =>
      columns.map(([, of, kind = 'text']) =>
        cellText(typeof of === 'string' ? (row[of] as Cell) : of(row), kind),
      ),
    ),
    rest: shown >= rows.length ? null : rest,
  }
}

/** A cell for people; what is not known is a dash. */
function cellText(cell: Cell, kind: Kind): string {
  if (cell === null || cell === undefined) return '-'
  if (kind === 'instant') return minuteText(new Date(cell).getTime())
  return typeof cell === 'number' ? (NUMBER_TEXTS[kind]?.(cell) ?? String(cell)) : String(cell)
}

const NUMBER_TEXTS: Readonly<Partial<Record<Kind, (value: number) => string>>> = {
  number: numberText,
  credits: creditsText,
  price: (value) => value.toFixed(2),
  bytes: bytesText,
}
const LEFT_KINDS: ReadonlySet<Kind> = new Set(['text', 'id', 'instant', 'state'])
const WHOLE_KINDS: ReadonlySet<Kind | undefined> = new Set(['id', 'instant'])

/**
 * `schema_version` of every document that is an object. It increases when a key is removed or changes meaning; readers must
 * accept new keys. src/cli/documents.ts defines the keys.
 */
export const SCHEMA_VERSION = 2

/** The report for programs: its values, and the rows of each table under the table's name. */
export function reportDocument({ values, data, sections = [] }: Report): object {
  const tables = sections.flatMap((section) =>
    'rows' in section && section.name !== null ? [[section.name, section.rows] as const] : [],
  )
  const named = toSnakeCase({ ...values, ...Object.fromEntries(tables) }) as object
  return { schema_version: SCHEMA_VERSION, ...named, ...data }
}

/**
 * The report for people: tables and notes fit `width` characters, titles and facts stay the lines they are. No received text
 * can start a line.
 */
export function reportText(
  { title = [], sections = [], notes = [] }: Report,
  width: number,
  paint: Paint = plain,
): string {
  const titles = [title].flat()
  const blocks = titles.map(printable)
  for (const section of sections) {
    const isTable = 'rows' in section
    const lines = isTable ? tableLines(section, width, paint) : factLines(section, paint)
    // Facts go directly below their title.
    const isBelowTitle = !isTable && titles.length > 0 && blocks.length === titles.length
    if (lines.length > 0 && blocks.length > 0 && !isBelowTitle) blocks.push('')
    blocks.push(...lines)
  }
  return [...blocks, ...notes.map((note) => wrapLines(printable(note), width))].join('\n')
}

function tableLines(table: Table, width: number, paint: Paint): string[] {
  if (table.cells.length === 0) return []
  const rest = table.rest === null ? [] : [wrapLines(printable(table.rest), width)]
  return [tableText(table, width, paint), ...rest]
}

// The lines of a fact are stacked to the right of its label.
function factLines(section: readonly Fact[], paint: Paint): string[] {
  const facts = section.filter((fact) => fact !== false)
  const labelWidth = Math.max(0, ...facts.map(([label]) => label.length)) + 2
  const indent = `\n${' '.repeat(labelWidth)}`
  return facts.map(([label, text, meaning = 'dim']) => {
    const said = [text].flat().map(printable).join(indent)
    const name = printable(label)
    const gap = said === '' ? '' : ' '.repeat(labelWidth - name.length)
    return `${name === '' ? '' : paint(meaning, name)}${gap}${said}`
  })
}

export type Meaning = 'error' | 'warning' | 'ok' | 'dim'
/** Colours a text, or leaves it as it is where there are no colours. */
export type Paint = (meaning: Meaning, text: string) => string

const FORMATS = { error: 'red', warning: 'yellow', ok: 'green', dim: 'dim' } as const

export const plain: Paint = (_, text) => text

/** The caller decides whether to use colours; Node would check its own stream. */
export const coloured: Paint = (meaning, text) =>
  styleText(FORMATS[meaning], text, { validateStream: false })

/** Whether the state of a run or check is good or bad; undefined if neither. */
export function meaningOf(state: string): Meaning | undefined {
  return STATES.find(([, states]) => states.test(state))?.[0]
}

const STATES: readonly (readonly [Meaning, RegExp])[] = [
  ['ok', /^(?:done|ok)$/],
  ['warning', /^(?:budget|interrupted|warning)$/],
  ['error', /^(?:failed|killed|problem|refused|unavailable)$/],
]

/**
 * `text` in lines of at most `width` characters where its words allow. Lines that fit stay as they are; others go on below
 * their first word, or below what follows an arrow or a label.
 */
export function wrapLines(text: string, width: number): string {
  const wrapped = text.split('\n').map((line) => {
    if (line.length <= width) return line
    const [mark = ''] = /^(?:\w+(?: \w+)? {2,}| *(?:→ )?)/.exec(line) ?? []
    const indent = ' '.repeat(mark.length)
    const parts = new RegExp(`(.{1,${Math.max(1, width - mark.length)}}|\\S+)(?:\\s+|$)`, 'g')
    return `${mark}${line.slice(mark.length).replaceAll(parts, `$1\n${indent}`)}`.trimEnd()
  })
  return wrapped.join('\n')
}

const BORDERS =
  'top bottom left right mid top-mid bottom-mid left-mid right-mid mid-mid top-left top-right bottom-left bottom-right'
const NO_LINES = {
  ...Object.fromEntries(BORDERS.split(' ').map((name) => [name, ''])),
  middle: '  ',
}
const GAP = 2
const NARROWEST_COLUMN = 8

/**
 * A plain table without lines, numbers to the right. Where it is wider than `width` characters the widest columns are
 * cut with an ellipsis; `Infinity` never cuts.
 */
export function tableText(
  { heads, kinds, cells }: Pick<Table, 'heads' | 'kinds' | 'cells'>,
  width: number,
  paint: Paint = plain,
): string {
  const widths = fitWidths([heads, ...cells], kinds, width)
  const table = new CliTable({
    head: heads.map((cell, column) => cut(printable(cell), widths[column])),
    chars: NO_LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colAligns: kinds.map((kind) => (LEFT_KINDS.has(kind) ? 'left' : 'right')),
  })
  for (const row of cells) {
    table.push(
      row.map((cell, column) => {
        const meaning = kinds[column] === 'state' ? meaningOf(cell) : undefined
        const text = cut(printable(cell), widths[column])
        return meaning === undefined ? text : paint(meaning, text)
      }),
    )
  }
  const [head = '', ...rows] = table.toString().split('\n')
  return [paint('dim', head.trimEnd()), ...rows.map((line) => line.trimEnd())].join('\n')
}

function fitWidths(
  rows: readonly (readonly string[])[],
  kinds: readonly Kind[],
  width: number,
): number[] {
  const widths = kinds.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  let excess = sum(widths) + GAP * (widths.length - 1) - width
  while (excess > 0) {
    const cuttable = widths.map((one, column) => (WHOLE_KINDS.has(kinds[column]) ? 0 : one))
    const widest = cuttable.indexOf(Math.max(...cuttable))
    if ((cuttable[widest] ?? 0) <= NARROWEST_COLUMN) break
    widths[widest] = (cuttable[widest] ?? 0) - 1
    excess -= 1
  }
  return widths
}
