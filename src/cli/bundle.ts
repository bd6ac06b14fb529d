/**
 * Runs the program from one file with the V8 code cache that `npm run build` wrote. The cache takes a third off `query` and
 * `titles`. Its name holds the Node.js version: V8 accepts a cache of another release of its own version, and crashes.
 */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Script, constants } from 'node:vm'

/** Where `npm run build` puts the program and its code cache. */
export const BUNDLE = join(import.meta.dirname, '..', 'bundle', 'jobtide.cjs')
export const CODE = `${BUNDLE}.${process.version}-${process.arch}.code`

type Program = (require: NodeJS.Require, filename: string, dirname: string) => void

export const program = new Script(readFileSync(BUNDLE, 'latin1'), {
  filename: pathToFileURL(BUNDLE).href,
  cachedData: kept(),
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
})
const run = program.runInThisContext() as Program
run(createRequire(BUNDLE), BUNDLE, dirname(BUNDLE))

/** The code cache; undefined if there is none or this account may not read it. */
function kept(): Buffer | undefined {
  try {
    return readFileSync(CODE)
  } catch {
    return undefined
  }
}
