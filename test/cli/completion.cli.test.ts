/** Completion in real shells; the test of zsh is skipped where zsh is missing. */

import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/declarations.ts'
import { callCli, done } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

it('bash completes commands, options, values, pipelines, tables and recipes', async () => {
  const script = join(temporaryFolder(), 'completion')
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'pipelines'))
  writeFileSync(join(folder, 'pipelines', 'nightly.yaml'), '')
  writeFileSync(script, done(await callCli(['completion', 'bash'])).stdout)
  // As if Tab were pressed after the last word.
  const complete = (...words: readonly string[]) => {
    const given = words.map((word) => `'${word}'`).join(' ')
    const ask = `. ${script}; COMP_WORDS=(${given}); COMP_CWORD=${words.length - 1}; _jobtide; printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout, stderr } = spawnSync('bash', ['-c', ask], { cwd: folder })
    expect(String(stderr)).toBe('')
    return String(stdout).trim().split('\n').toSorted()
  }
  const commands = Object.keys(COMMANDS)
  expect(complete('jobtide', '')).toEqual(expect.arrayContaining(commands))
  expect(complete('jobtide', 're')).toEqual(
    expect.arrayContaining(['rejects', 'replay', 'restore']),
  )
  expect(complete('jobtide', 'run', 'nightly', '--cred')).toEqual(['--credits'])
  expect(complete('jobtide', 'credits', '--by', 'm')).toEqual(['month'])
  expect(complete('jobtide', 'plan', 'n')).toContain('nightly')
  expect(complete('jobtide', 'query', '--recipe', 'watch_m')).toEqual(['watch_misses'])
  expect(complete('jobtide', 'models', 'joi')).toContain('joiners')
  expect(complete('jobtide', 'find', 'comp')).toContain('companies')
  expect(complete('jobtide', 'completion', 'zs')).toContain('zsh')
  expect(complete('jobtide', 'completion', '--js')).toEqual([''])
  expect(await callCli(['completion', 'fish'])).toMatchObject({ exitCode: 2 })
})

it('is a script for programs, which refuses --json and has no schema', async () => {
  for (const args of [
    ['completion', 'bash', '--json'],
    ['schema', 'completion'],
  ]) {
    const { exitCode, stderr } = await callCli(args)
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--json')])
  }
})

it('zsh accepts the script (skipped without zsh)', async () => {
  const { stdout } = done(await callCli(['completion', 'zsh']))
  expect(stdout).toContain('bashcompinit')
  if (spawnSync('zsh', ['-c', 'true']).status !== 0) return
  const { status, stderr } = spawnSync('zsh', [
    '-f',
    '-c',
    `${stdout}\n(( $+functions[_jobtide] ))`,
  ])
  expect([status, String(stderr)]).toEqual([0, ''])
})
