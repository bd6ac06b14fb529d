/**
 * The word lists as `npm run build` parsed them: parsing their 380 kB of YAML took half a second of every process that builds.
 * Each is kept under the hash of its text, so that a list that was changed since is not found here, and parsed again.
 */

import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { packageRoot } from '../support/assets.ts'
import { makeFolders, readIfThere } from '../support/atomic-file.ts'
import { sha256Hex } from '../support/hash.ts'

const FOLDER = join(packageRoot, 'dist', 'word-lists')
const LISTS = join(packageRoot, 'config', 'titles')

const pathOf = (text: string): string => join(FOLDER, `${sha256Hex(text)}.json`)

/** What `parse` makes of a text; undefined for a text that was not there when the package was built. */
export function parsedList(text: string): unknown {
  const kept = readIfThere(pathOf(text))
  return kept === null ? undefined : (JSON.parse(kept.toString()) as unknown)
}

/** Parses and keeps all word lists; the last step of `npm run build`. */
export function keepParsedLists(): void {
  makeFolders(FOLDER)
  for (const name of readdirSync(LISTS).filter((one) => one.endsWith('.yaml'))) {
    const text = readFileSync(join(LISTS, name), 'utf8')
    writeFileSync(pathOf(text), JSON.stringify(parse(text)))
  }
}
