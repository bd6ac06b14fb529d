import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { withEnvFiles } from '../../src/cli/env-files.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

/** The variables of a `.env` in the current folder. */
function read(text: string) {
  const folder = temporaryFolder()
  const file = join(folder, '.env')
  writeFileSync(file, text)
  chmodSync(file, 0o600)
  const before = process.cwd()
  process.chdir(folder)
  onTestFinished(() => process.chdir(before))
  return withEnvFiles({}, []).environment
}

describe('a .env file', () => {
  it('has a variable on each line, and those of other programs', () => {
    const text =
      'JOBTIDE_BASE_URL=https://api.example.com\nexport JOBTIDE_API_KEY="sk-1 2"\nMINE=a B=c\n'
    expect(read(text)).toEqual({
      JOBTIDE_BASE_URL: 'https://api.example.com',
      JOBTIDE_API_KEY: 'sk-1 2',
    })
  })

  it.each([
    ['on one line', 'JOBTIDE_BASE_URL=https://api.example.com JOBTIDE_API_KEY=sk-1'],
    ['between semicolons', 'JOBTIDE_BASE_URL=https://api.example.com;JOBTIDE_API_KEY=sk-1'],
    ['in one pair of quotes', 'JOBTIDE_DATA_DIR="data\nexport JOBTIDE_API_KEY=sk-1"'],
  ])('with two variables %s is refused, and neither value shown', (_, text) => {
    const name = text.split('=', 1)[0] ?? ''
    const message = `the value of ${name} goes on with another variable`
    expect(() => read(text)).toThrow(
      expect.objectContaining({
        exitCode: 2,
        message: expect.stringMatching(`[.]env: ${message}$`),
      }),
    )
  })
})
