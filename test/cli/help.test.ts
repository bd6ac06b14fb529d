import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { packageRoot } from '../../src/support/assets.ts'
import { callCli } from '../helpers/run-cli.ts'

it('--help prints the text that the build wrote, which matches the commands', async () => {
  const { stdout } = await callCli(['--help'])
  expect(stdout).toContain('\n  titles [options] [file]')
  expect(readFileSync(join(packageRoot, 'dist', 'help.txt'), 'utf8')).toBe(stdout)
})
