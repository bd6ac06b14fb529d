/**
 * The lists in which users decide what the data does not: files in `config/` of the project, in place of the package's,
 * which are empty and which the next version replaces.
 */

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from './assets.ts'
import { readNamedFile } from './atomic-file.ts'
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

/** The texts of these lists, by name. @throws ConfigError for a file that other accounts may write */
export function readOwnLists(folder: string): Map<OwnList, string> {
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
