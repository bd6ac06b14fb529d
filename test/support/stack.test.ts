import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { packageRoot } from '../../src/support/assets.ts'
import { stackOf } from '../../src/support/stack.ts'

it('a stack trace of the bundle names lines of src; what has no map stays as it is', () => {
  const folder = join(packageRoot, 'dist', 'chunks')
  const [chunk, line] = readdirSync(folder)
    .filter((name) => name.endsWith('.js'))
    .map(
      (name) => [join(folder, name), lineWith(join(folder, name), 'throw new NoSqlError')] as const,
    )
    .find(([, found]) => found > 0) ?? ['', 0]
  const error = new Error('broken')
  error.stack = `Error: broken\n    at onlyStatement (${pathToFileURL(chunk).href}:${line}:40)\n    at file:///gone.js:1:2`
  const source = lineWith(
    join(packageRoot, 'src', 'cli', 'query-command.ts'),
    'throw new NoSqlError',
  )
  expect(stackOf(error)).toMatch(
    new RegExp(
      `^Error: broken\\n    at onlyStatement \\(src/cli/query-command\\.ts:${source}:\\d+\\)\\n    at file:///gone\\.js:1:2$`,
    ),
  )
})

function lineWith(path: string, text: string): number {
  return (
    readFileSync(path, 'utf8')
      .split('\n')
      .findIndex((line) => line.includes(text)) + 1
  )
}
