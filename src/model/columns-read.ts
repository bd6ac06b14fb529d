/**
 * Which columns a night has to look at. Reading a wide table for the rows of some people is dear by the column, so only
 * those are read that matter to somebody. Pure.
 */

import type { Project, ProjectCheck, ProjectNode } from './project.ts'
import { PERSON } from './table-delta.ts'

type Reader = ProjectNode | ProjectCheck

/**
 * The columns by which the rows that touched people had in a model are compared with those they have now: its key, and what
 * is read by those who have to know what changed. Who is asked by people gets all rows of touched people instead.
 */
export function columnsCompared(project: Project, { name, definition }: ProjectNode): string[] {
  const readers = readersOf(project, name).filter(
    (reader) => reader.incrementalBy.join() !== PERSON && constraintKind(reader) !== 'values',
  )
  return [...definition.columns.keys()].filter(
    (column) => definition.key.includes(column) || readers.some((reader) => names(reader, column)),
  )
}

/**
 * The columns of a table that is not written at night, a loaded one or a view, that are read by those who see touched people
 * only, and by which others are asked.
 */
export function columnsOfPeople(
  project: Project,
  name: string,
  columns: readonly string[],
): readonly string[] {
  const readers = readersOf(project, name)
  return columns.filter(
    (column) =>
      column === PERSON ||
      readers.some(
        (reader) =>
          reader.incrementalBy.includes(column) || (seesPeople(reader) && names(reader, column)),
      ),
  )
}

function seesPeople(reader: Reader): boolean {
  const isComputed = 'computed' in reader && reader.computed !== null
  return isComputed || reader.incrementalBy.join() === PERSON || constraintKind(reader) !== null
}

function readersOf({ nodes, checks }: Project, name: string): Reader[] {
  return [...nodes, ...checks].filter(({ reads }) => reads.includes(name))
}

function constraintKind(reader: Reader): string | null {
  return 'constraint' in reader ? (reader.constraint?.kind ?? null) : null
}

function names({ words }: Reader, column: string): boolean {
  return words === null || words.has(column)
}
