import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { packageRoot } from '../../src/support/assets.ts'
import { stackOf } from '../../src/support/stack.ts'

it('a stack trace of the bundle names lines of src; other lines stay unchanged', () => {
  const bundle = join(packageRoot, 'dist', 'bundle', 'jobtide.cjs')
  const { line, column } = placeOf(bundle, 'throw new NoSqlError')
  const error = new Error('broken')
  error.stack = `Error: broken\n    at onlyStatement (${pathToFileURL(bundle).href}:${line}:${column})\n    at file:///gone.js:1:2`
  const source = join(packageRoot, 'src', 'cli', 'query-command.ts')
  expect(stackOf(error)).toMatch(
    new RegExp(
      `^Error: broken\\n    at onlyStatement \\(src/cli/query-command\\.ts:${placeOf(source, 'throw new NoSqlError').line}:\\d+\\)\\n    at file:///gone\\.js:1:2$`,
    ),
  )
})

/** The line of a text in a file, from 1. */
function placeOf(path: string, text: string) {
  const lines = readFileSync(path, 'utf8').split('\n')
  const index = lines.findIndex((line) => line.includes(text))
  return { line: index + 1, column: (lines[index] ?? '').indexOf(text) + 1 }
}
