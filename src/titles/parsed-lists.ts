/**
 * The lists of `config/` as `npm run build` parsed them: parsing their 550 kB of YAML took half a second of every process that
 * builds. Each is kept under the hash of its text, so that a list that was changed since is not found here, and parsed again.
 */

import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { packageRoot } from '../support/assets.ts'
import { makeFolders, readIfThere } from '../support/atomic-file.ts'
import { sha256Hex } from '../support/hash.ts'

const FOLDER = join(packageRoot, 'dist', 'word-lists')
const LISTS = ['config', join('config', 'titles')]

const pathOf = (text: string): string => join(FOLDER, `${sha256Hex(text)}.json`)

/** What `parse` makes of a text; undefined for a text that was not there when the package was built. */
export function parsedList(text: string): unknown {
  const kept = readIfThere(pathOf(text))
  return kept === null ? undefined : (JSON.parse(kept.toString()) as unknown)
}

/** The lists that ship, by path in the package. */
export function shippedLists(): string[] {
  const paths = LISTS.flatMap((folder) =>
    readdirSync(join(packageRoot, folder)).map((name) => join(folder, name)),
  )
  return paths.filter((path) => path.endsWith('.yaml'))
}

/** Parses and keeps all lists; the last step of `npm run build`. */
export function keepParsedLists(): void {
  makeFolders(FOLDER)
  for (const path of shippedLists()) {
    const text = readFileSync(join(packageRoot, path), 'utf8')
    writeFileSync(pathOf(text), JSON.stringify(parse(text)))
  }
}
