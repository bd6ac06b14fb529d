/** A stack trace with the lines of src, because users run a bundle. */

import { readFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload, type SourceOrigin } from 'node:module'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageRoot } from './assets.ts'

const PLACE = /(file:\/\/[^\s()]+\.c?js):(\d+):(\d+)/g

/** The stack of an error, with `src/….ts:line:column` wherever the file has a source map. */
export function stackOf(error: Error): string {
  return (error.stack ?? error.message).replaceAll(
    PLACE,
    (place, url: string, line: string, column: string) => sourceOf(url, +line, +column) ?? place,
  )
}

function sourceOf(url: string, line: number, column: number): string | null {
  try {
    const text = readFileSync(fileURLToPath(`${url}.map`), 'utf8')
    const map = new SourceMap(JSON.parse(text) as SourceMapPayload)
    const { fileName, lineNumber, columnNumber } = map.findOrigin(line, column) as SourceOrigin
    const path = relative(packageRoot, fileURLToPath(new URL(fileName, url)))
    return `${path}:${lineNumber}:${columnNumber}`
  } catch {
    return null
  }
}
