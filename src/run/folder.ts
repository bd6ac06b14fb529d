/** Creates a folder that is ready to run: a pipeline, its list, an example environment, and a .gitignore. */

import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, extname, join, relative, resolve } from 'node:path'
import { refuseDamaged } from '../plan/skipped-lines.ts'
import { packageRoot } from '../support/assets.ts'
import { createFile, isFile } from '../support/atomic-file.ts'
import { ConfigError, onDisk } from '../support/errors.ts'
import { isWithin } from '../support/file-modes.ts'
import { isFileOrBelow } from './data-directory.ts'
import { readOrganizations } from './organizations-file.ts'

const TEMPLATES = join(packageRoot, 'config', 'init')
const LIST = 'organizations.csv'
const PIPELINE = join('pipelines', 'nightly.yaml')

/**
 * Makes what is missing in `folder`, and changes nothing that is there.
 * @param listFile the list to copy; undefined: that of the folder, or one with two lines to replace
 * @throws ConfigError where the list cannot be read, or another one is in its place; nothing was written then
 */
export async function makeProjectFolder(folder: string, listFile: string | undefined) {
  const root = resolve(folder)
  if (isFileOrBelow(root)) {
    throw new ConfigError(`${root} is not a folder, or lies below a file`, {
      hint: 'Name a folder: jobtide init FOLDER. Nothing was written.',
    })
  }
  if (existsSync(root) && realpathSync(root) === realpathSync(packageRoot)) {
    throw new ConfigError(`${root} is the folder of Jobtide itself`, {
      hint: 'Name a folder of your own: jobtide init FOLDER',
    })
  }
  const list = listFile === undefined ? LIST : `organizations${extname(listFile).toLowerCase()}`
  const source = resolve(listFile ?? join(root, list))
  if (listFile !== undefined) refusePipe(source)
  const isExample = listFile === undefined && isExampleList(source)
  const read = isExample ? null : await readOrganizations(source)
  if (read !== null) refuseDamaged(read.skipped)
  refuseOther(join(root, list), source)
  const pipeline = ofPackage(template('nightly.yaml').replace(LIST, list), root)
  const contents: readonly (readonly [string, string | Uint8Array])[] = [
    [PIPELINE, pipeline],
    [join('models', 'joiners_by_month.sql'), template('joiners_by_month.sql')],
    [join('checks', 'months_have_joiners.sql'), template('months_have_joiners.sql')],
    [list, isExample ? template(LIST) : onDisk(source, () => readFileSync(source))],
    ['.env.example', template('env.example')],
    ['.gitignore', template('gitignore')],
  ]
  const files = contents.map(([name, content]) => {
    const path = join(root, name)
    const isNew = !existsSync(path)
    if (isNew) createFile(path, content)
    return { path, isNew }
  })
  return {
    folder: root,
    /** Those that were there stay unchanged. */
    files,
    /** Organisations in the list; null if it has example lines, which must be replaced. */
    organizations: read?.organizations.length ?? null,
    /** Lines of the list that name none. */
    skipped: read?.skipped ?? [],
  }
}

// A pipe can be read only once, and the list is read before it is copied.
function refusePipe(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined || found.isFile() || found.isDirectory()) return
  throw new ConfigError(`${path} is not a file`, {
    hint: 'Save the list as a file first: only `plan` and `run` can read a pipe.',
  })
}

// Never silently prefers the existing file.
function refuseOther(there: string, given: string): void {
  if (there === given || !existsSync(there) || readFileSync(there).equals(readFileSync(given)))
    return
  throw new ConfigError(`${there} already exists and is not the same list as ${given}`, {
    hint: 'Remove one of them, or leave --organizations out. Nothing was written.',
  })
}

// Also one that is to be made.
function isExampleList(path: string): boolean {
  return !isFile(path) || isExampleText(readFileSync(path, 'utf8'))
}

/** Whether a list is the one with lines to replace. */
export function isExampleText(text: string): boolean {
  return text === template(LIST)
}

/** A template with the places of the package's own pages, as they are read from a file of `pipelines/`. */
function ofPackage(text: string, root: string): string {
  const from = join(root, dirname(PIPELINE))
  const isInside = isWithin(root, packageRoot)
  return text.replaceAll(/\b(?:docs|config)\/[\w.-]+/g, (name) => {
    const path = join(packageRoot, name)
    return isInside ? relative(from, path) : path
  })
}

function template(name: string): string {
  return readFileSync(join(TEMPLATES, name), 'utf8')
}
