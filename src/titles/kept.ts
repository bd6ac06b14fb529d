/**
 * Remembers what pure functions said, and what is made of the word lists. The latter is kept from when the package was built, under
 * the version of the taxonomy, because making it took two thirds of a command. Run from src, it is always made.
 */

import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot, packageVersion } from '../support/assets.ts'
import { makeFolders, readIfThere } from '../support/atomic-file.ts'
import { sha256Hex } from '../support/hash.ts'
import { once } from '../support/once.ts'
import { ownText } from '../support/own-lists.ts'

/** 12 hex digits that change whenever labels may: over every file of the taxonomy and the version of the package. */
export const shippedTaxonomy: string = hashOfTaxonomy()

/** As {@link shippedTaxonomy}, with the ladders of the project. */
export function taxonomyVersion(): string {
  const own = ownText('config/ladders.yaml')
  return own === undefined ? shippedTaxonomy : sha256Hex(`${shippedTaxonomy}\0${own}`).slice(0, 12)
}

function hashOfTaxonomy(): string {
  const folder = join(packageRoot, 'config', 'titles')
  const names = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  const hash = createHash('sha256').update(packageVersion())
  for (const name of [...names.toSorted(), '../ladders.yaml']) {
    hash.update('\0').update(readFileSync(join(folder, name)))
  }
  return hash.digest('hex').slice(0, 12)
}

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

const FOLDER = join(import.meta.dirname, '..', 'word-lists')
const makers = new Map<string, () => unknown>()

const nameOf = (name: string) => `${name}-${shippedTaxonomy}.json`

/**
 * Reads or makes something once, when it is first asked for.
 * @param make returns what JSON can hold
 * @param use makes of it what JSON cannot hold, such as a map
 */
export function kept<T, U = T>(name: string, make: () => T, use?: (made: T) => U): () => U {
  makers.set(name, make)
  return once(() => {
    const text = readIfThere(join(FOLDER, nameOf(name)))
    const made = text === null ? make() : (JSON.parse(text.toString()) as T)
    return use === undefined ? (made as unknown as U) : use(made)
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
