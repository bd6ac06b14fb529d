/**
 * Reads the user's own models and checks: `models/*.sql` and `checks/*.sql` in the folder of the project, plain SQL
 * with the same headers as Jobtide's. It needs no database, so that a run can refuse a wrong file before it buys.
 */

import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { onDisk, ConfigError } from '../../support/errors.ts'
import { refuseOthersFile } from '../../support/file-modes.ts'
import { sha256Hex } from '../../support/hash.ts'
import { misnamedListIn, ownListsIn, readOwnLists, type OwnList } from '../../support/own-lists.ts'
import {
  parseModelFile,
  shippedNames,
  sqlFilesIn,
  type ModelFile,
} from '../../warehouse/catalog.ts'
import { SqlError } from '../../warehouse/errors.ts'

export class OwnSqlError extends ConfigError {
  /** @param place the file, with its line if known, such as `models/mine.sql:7` */
  constructor(place: string, problem: string, hint = '', cause?: unknown) {
    super(`${place}: ${problem}`, {
      hint: `${hint}Correct the file. Nothing was built, and the tables of the last build stay.`,
      context: { file: place.replace(/:\d+$/, '') },
      cause,
    })
  }
}

interface OwnSelect {
  readonly name: string
  /** Such as `checks/mine.sql`. */
  readonly file: string
  readonly sql: string
}

export interface OwnFiles {
  readonly models: readonly (ModelFile & OwnSelect)[]
  readonly checks: readonly OwnSelect[]
  /** By file, such as `config/transfers.yaml`, its text. */
  readonly lists: ReadonlyMap<OwnList, string>
  /** By file, such as `models/mine.sql`, a hash of its bytes. */
  readonly hashes: ReadonlyMap<string, string>
}

// The last semicolon, and the comments behind it.
const END = /;\s*(?:--[^\n]*(?:\n\s*|$))*$/

export function holdsOwn(folder: string): boolean {
  return (
    ['models', 'checks'].some((name) => filesIn(join(folder, name)).length > 0) ||
    ownListsIn(folder).length > 0 ||
    misnamedListIn(folder) !== undefined
  )
}

/** @param isAll false: only its lists @throws ConfigError for a taken name, or a file that other accounts may write */
export function readOwnFiles(folder: string, isAll = true): OwnFiles {
  const hashes = new Map<string, string>()
  const shipped = shippedNames()
  const read = (kind: string) =>
    (isAll ? filesIn(join(folder, kind)) : []).map((path) => {
      const file = `${kind}/${basename(path)}`
      const name = basename(path, '.sql')
      const bytes = onDisk(path, () => {
        refuseOthersFile(path, statSync(path), path, 'run SQL that is not yours')
        return readFileSync(path)
      })
      hashes.set(file, sha256Hex(bytes))
      const isPlain = /^[a-z][a-z0-9_]*$/.test(name)
      if (kind === 'models' || !isPlain) refuseTaken(file, name, shipped)
      if (!isPlain) {
        throw new OwnSqlError(
          file,
          'the name of a model or check has lower-case letters, digits and underscores',
        )
      }
      const text = bytes
        .toString()
        .replace(/^\uFEFF/, '')
        .replaceAll('\r\n', '\n')
      // Its line numbers are those of the file.
      return { path, file, name, sql: `${text.replace(END, '').trimEnd()}\n` }
    })
  const models = read('models').map(({ path, file, sql }) => {
    const model = parseModelFile(path, sql, (problem) => new OwnSqlError(file, problem), true)
    return { ...model, file, grain: model.grain || `Made by ${file}.` }
  })
  const checks = read('checks').map(({ file, name, sql }) => ({ file, name, sql }))
  const lists = readOwnLists(folder)
  for (const [file, text] of lists) hashes.set(file, sha256Hex(text))
  return { models, checks, lists, hashes }
}

function filesIn(folder: string): string[] {
  // Editors keep their own files next to open ones.
  return existsSync(folder)
    ? sqlFilesIn(folder).filter((path) => !basename(path).startsWith('.'))
    : []
}

/** @throws OwnSqlError if one of `taken` has the name, in any case */
export function refuseTaken(file: string, name: string, taken: ReadonlySet<string>): void {
  if (!taken.has(name.toLowerCase())) return
  throw new OwnSqlError(
    file,
    `the name ${name.toLowerCase()} is taken: Jobtide has a table, check or function of that name`,
    `Give the file another name, such as my_${name.toLowerCase()}.sql. `,
  )
}

/** Adds the source of refused SQL to an error: in an own file its line. @param what such as `model joiners` */
export async function namingFile<T>(
  what: string,
  file: string | undefined,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof SqlError)) throw error
    if (file === undefined) throw new SqlError(`${what}: ${error.message}`, error)
    // Every statement puts this SQL on its first line, so line numbers match.
    const [, problem = '', line] = /^([^]*?)(?:\n+LINE (\d+): [^]*)?$/.exec(error.message) ?? []
    throw new OwnSqlError(line === undefined ? file : `${file}:${line}`, problem, '', error)
  }
}
