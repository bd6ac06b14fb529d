/** The completion of real shells; one that is not installed is skipped, and the test says so. */

import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { callCli, done } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const isThere = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0

// As if Tab were pressed behind the last word.
const ASK: Readonly<Record<string, (script: string, words: readonly string[]) => string>> = {
  bash: (script, words) =>
    `. ${script}; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _jobtide; printf '%s\\n' "\${COMPREPLY[@]}"`,
  fish: (script, words) =>
    `source ${script}; complete -C '${words.join(' ')}' | string split -f 1 \\t`,
}

it.each(Object.keys(ASK))(
  '%s completes commands, options, values, pipelines, tables and recipes (skipped without it)',
  async (shell) => {
    if (!isThere(shell)) return
    const script = join(temporaryFolder(), 'completion')
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'pipelines'))
    writeFileSync(join(folder, 'pipelines', 'nightly.yaml'), '')
    writeFileSync(script, done(await callCli(['completion', shell])).stdout)
    const complete = (...words: readonly string[]) => {
      const { stdout, stderr } = spawnSync(shell, ['-c', ASK[shell]?.(script, words) ?? ''], {
        cwd: folder,
      })
      expect(String(stderr)).toBe('')
      return String(stdout).trim().split('\n').toSorted()
    }
    expect(complete('jobtide', '')).toEqual(
      expect.arrayContaining(COMMANDS.map(({ name }) => name)),
    )
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
  },
)

it('zsh takes the script (skipped without it)', async () => {
  const { stdout } = done(await callCli(['completion', 'zsh']))
  expect(stdout).toContain('bashcompinit')
  if (!isThere('zsh')) return
  const { status, stderr } = spawnSync('zsh', [
    '-f',
    '-c',
    `${stdout}\n(( $+functions[_jobtide] ))`,
  ])
  expect([status, String(stderr)]).toEqual([0, ''])
})
