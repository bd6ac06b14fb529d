/** Which taxonomy this is: its files and the package that reads them. */

import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot, packageVersion } from '../support/assets.ts'
import { sha256Hex } from '../support/hash.ts'
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
