/**
 * The lists in which users decide what the data does not: files in `config/` of the project, in place of the package's,
 * which are empty and which the next version replaces.
 */

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from './assets.ts'
import { readNamedFile } from './atomic-file.ts'
import { ConfigError } from './errors.ts'
import { refuseOthersFile } from './file-modes.ts'

const NAMES = [
  'config/ladders.yaml',
  'config/organization-groups.yaml',
  'config/transfers.yaml',
] as const

export type OwnList = (typeof NAMES)[number]

export function ownListsIn(folder: string): OwnList[] {
  return folder === packageRoot ? [] : NAMES.filter((name) => existsSync(join(folder, name)))
}

/** A file that is meant as such a list, but is not read, because its name ends in .yml; undefined if there is none. */
export function misnamedListIn(folder: string): string | undefined {
  if (folder === packageRoot) return undefined
  return NAMES.map((name) => name.replace(/yaml$/, 'yml')).find((name) =>
    existsSync(join(folder, name)),
  )
}

/** The texts of these lists, by name. @throws ConfigError for a file that is misnamed, or that other accounts may write */
export function readOwnLists(folder: string): Map<OwnList, string> {
  const misnamed = misnamedListIn(folder)
  if (misnamed !== undefined) {
    throw new ConfigError(`${join(folder, misnamed)} is not read: its name ends in .yml`, {
      hint: 'Rename it so that it ends in .yaml, or move it away.',
    })
  }
  return new Map(
    ownListsIn(folder).map((name) => {
      const path = join(folder, name)
      refuseOthersFile(path, statSync(path), path, 'change what your tables say')
      return [name, readNamedFile('list', path, 'Check who may read it.').toString()]
    }),
  )
}

let inUse: ReadonlyMap<OwnList, string> = new Map()

/** Sets the lists that {@link ownText} returns from now on. */
export function useOwnLists(texts: ReadonlyMap<OwnList, string>): void {
  inUse = texts
}

/** Undefined if the project has no such list. */
export function ownText(name: OwnList): string | undefined {
  return inUse.get(name)
}
