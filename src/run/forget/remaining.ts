/** What is left after a forgetting, said so that whoever reads it knows where to go on. */

import { existsSync } from 'node:fs'
import { dirname, sep } from 'node:path'
import { dataDirectory } from '../data-directory.ts'
import type { Match } from './forget-proof.ts'

/**
 * A sentence for each file or object that still names somebody. Those of another data directory below `root`, such as that
 * of the demo, are one: it is forgotten in by itself.
 */
export function remainingIn(root: string, matches: readonly Match[]): string[] {
  const sentences = matches.map(({ where }) => {
    const other = dataDirectoryOf(where, root)
    return other === null
      ? `${where} still names somebody`
      : `${other} still names somebody: it is a data directory of its own; forget there, too, with --data-dir`
  })
  return [...new Set(sentences)]
}

/** The data directory below `root` that a file lies in; null for a file of `root` itself, or from elsewhere. */
function dataDirectoryOf(path: string, root: string): string | null {
  if (!path.startsWith(root + sep)) return null
  for (let folder = dirname(path); folder.length > root.length; folder = dirname(folder)) {
    const { journal, warehouse } = dataDirectory(folder)
    if (existsSync(journal) || existsSync(warehouse)) return folder
  }
  return null
}
