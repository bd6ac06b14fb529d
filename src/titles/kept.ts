/**
 * Remembers what pure functions said, and what is made of the word lists. The latter is kept from when the package was built, under
 * the version of the taxonomy, because making it took two thirds of a command. Run from src, it is always made.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolders, readIfThere } from '../support/atomic-file.ts'
import { shippedTaxonomy } from './version.ts'

const MOST_WORDS = 50_000

/** `read`, with its answers remembered: those asked for again stay, of the others twice `most` at most. */
export function remembered<T>(read: (text: string) => T, most = MOST_WORDS): (text: string) => T {
  let young = new Map<string, T>()
  let old = new Map<string, T>()
  return (text) => {
    const known = young.get(text)
    if (known !== undefined) return known
    const answer = old.get(text) ?? read(text)
    if (young.size >= most) {
      old = young
      young = new Map()
    }
    young.set(text, answer)
    return answer
  }
}

/** The result of `make`, made when it is first requested. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}

const FOLDER = join(import.meta.dirname, '..', 'word-lists')
const makers = new Map<string, () => unknown>()

const nameOf = (name: string) => `${name}-${shippedTaxonomy}.json`

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
