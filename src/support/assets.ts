/** Files that ship with the package: SQL, pipelines, defaults. The same relative place from `src`, `dist` and `dist/bundle`. */

import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** The folder that holds package.json, sql/, pipelines/ and config/. */
export const packageRoot = resolve(import.meta.dirname, '..', '..')

/** The folder of the SQL schema files, models and checks. */
export const sqlFolder = join(packageRoot, 'sql')

/** A SQL file of the package. @param path below sql/ */
export function sqlText(path: string): string {
  return readFileSync(join(sqlFolder, path), 'utf8')
}

export function packageVersion(): string {
  return packageJson().version
}

/** The version of DuckDB, which is pinned; the engine is not loaded for it. */
export function engineVersion(): string {
  return (packageJson().dependencies['@duckdb/node-bindings'] ?? '').replace(/-r\.\d+$/, '')
}

function packageJson() {
  const text = readFileSync(join(packageRoot, 'package.json'), 'utf8')
  return JSON.parse(text) as { version: string; dependencies: Readonly<Record<string, string>> }
}
