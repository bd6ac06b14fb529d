/**
 * What is made of the word lists, as the code beside it made it when the package was built: making it again took two thirds of a
 * command. It is kept under the version of the taxonomy, so that after a change to a list it is made again. Run from src, where
 * nothing is built beside the code, it always is.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolders, readIfThere } from '../support/atomic-file.ts'
import { once } from './memo.ts'
import { taxonomyVersion } from './version.ts'

const FOLDER = join(import.meta.dirname, '..', 'word-lists')
const makers = new Map<string, () => unknown>()

const nameOf = (name: string) => `${name}-${taxonomyVersion}.json`

/** Reads or makes something once, when it is first asked for. @param make returns what JSON can hold */
export function kept<T>(name: string, make: () => T): () => T {
  makers.set(name, make)
  return once(() => {
    const text = readIfThere(join(FOLDER, nameOf(name)))
    return text === null ? make() : (JSON.parse(text.toString()) as T)
  })
}

/** All of it as text, made again, by the name of its file. */
export function madeNow(): Map<string, string> {
  const texts = [...makers].map(([name, make]) => [nameOf(name), JSON.stringify(make())] as const)
  return new Map(texts)
}

/** Makes and keeps all of it; for `npm run build`. */
export function keepAll(): void {
  makeFolders(FOLDER)
  for (const [name, text] of madeNow()) writeFileSync(join(FOLDER, name), text)
}
