/** The pages name every command and every option that overrides a pipeline file. */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { packageRoot } from '../../src/support/assets.ts'
import { columnOf, read } from './markdown.ts'

const run = promisify(execFile)

async function help(...command: string[]): Promise<string> {
  const cli = join(packageRoot, 'dist', 'cli.js')
  return (await run(process.execPath, [cli, ...command, '--help'])).stdout
}

it('names every command of the program, and no other', async () => {
  const commands = [...(await help()).matchAll(/^ {2}([a-z-]+)(?: \[| <|\s{2})/gm)].map(
    ([, name]) => name,
  )
  const documented = columnOf('command', 'can exit with').map(
    (cell) => /^`([a-z-]+)/.exec(cell)?.[1],
  )
  expect(new Set(documented)).toEqual(new Set(commands.filter((name) => name !== 'help')))
})

it('names every option of run in docs/pipelines.md', async () => {
  const options = [...(await help('run')).matchAll(/^ {2}(--[a-z-]+)/gm)].map(
    ([, one]) => one ?? '',
  )
  expect(options.length).toBeGreaterThan(8)
  const text = read('docs/pipelines.md')
  expect(options.filter((option) => !text.includes(`\`${option}`))).toEqual([])
})
