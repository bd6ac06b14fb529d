/** Files that ship with the package: SQL, pipelines, defaults. The same relative place from `src` and from `dist`. */

import { join, resolve } from 'node:path'

/** The folder that holds package.json, sql/, pipelines/ and config/. */
export const packageRoot = resolve(import.meta.dirname, '..', '..')

/** The folder of the SQL schema files, models and checks. */
export const sqlFolder = join(packageRoot, 'sql')
