import { withEnvFiles } from '../../src/cli/context.ts'
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { CLI } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

/** The settings of a `.env` in the current folder. */
function readFiles(text: string, give: (file: string) => void = () => undefined) {
  const folder = temporaryFolder()
  const file = join(folder, '.env')
  writeFileSync(file, text)
  chmodSync(file, 0o600)
  give(file)
  const before = process.cwd()
  process.chdir(folder)
  onTestFinished(() => process.chdir(before))
  return withEnvFiles({}, [])
}

const read = (text: string) => readFiles(text).environment

describe('a .env file', () => {
  it('has one variable on each line, and may contain those of other programs', () => {
    const text =
      'JOBTIDE_BASE_URL=https://api.example.com\nexport JOBTIDE_API_KEY="sk-1 2"\nMINE=a B=c\n'
    expect(read(text)).toEqual({
      JOBTIDE_BASE_URL: 'https://api.example.com',
      JOBTIDE_API_KEY: 'sk-1 2',
    })
  })

  it('names a folder relative to itself, unless only a shell could read the name', () => {
    const named = (folder: string) => read(`JOBTIDE_DATA_DIR='${folder}'`)['JOBTIDE_DATA_DIR']
    expect(named('data')).toBe(join(process.cwd(), 'data'))
    for (const folder of ['~/data', '$HOME/data', '${HOME}/data'])
      expect(named(folder)).toBe(folder)
  })

  it.each([
    ['on one line', 'JOBTIDE_BASE_URL=https://api.example.com JOBTIDE_API_KEY=sk-1'],
    ['between semicolons', 'JOBTIDE_BASE_URL=https://api.example.com;JOBTIDE_API_KEY=sk-1'],
    ['in one pair of quotes', 'JOBTIDE_DATA_DIR="data\nexport JOBTIDE_API_KEY=sk-1"'],
  ])('with two variables %s is refused, and neither value shown', (_, text) => {
    const name = text.split('=', 1)[0] ?? ''
    const message = `the value of ${name} runs into another variable`
    expect(() => read(text)).toThrow(
      expect.objectContaining({
        exitCode: 2,
        message: expect.stringMatching(`[.]env: ${message}$`),
      }),
    )
  })

  it('of another account is refused with exit 2, for root as well; of root, and writable by another group, it is a warning', (context) => {
    context.skip(process.getuid?.() !== 0, 'only root can give a file away')
    const text = 'JOBTIDE_BASE_URL=https://api.example.com'
    const given = (uid: number, gid: number, mode: number) => (file: string) => {
      chownSync(file, uid, gid)
      chmodSync(file, mode)
    }
    for (const mode of [0o600, 0o644, 0o666]) {
      expect(() => readFiles(text, given(12_345, 0, mode))).toThrow(
        expect.objectContaining({
          exitCode: 2,
          message: expect.stringMatching(
            /[.]env belongs to another account \(uid 12345\), which could send the key elsewhere$/,
          ),
          hint: expect.stringContaining('then run: chown 0 ') as string,
        }),
      )
    }
    const warned = readFiles(text, given(0, 12_345, 0o660)).warnings
    expect(warned).toEqual([expect.stringContaining('.env may be written by a group')])
    expect(readFiles(text, given(0, 0, 0o660)).warnings).toEqual([])
    expect(readFiles(text, given(0, 12_345, 0o640)).warnings).toEqual([])
  })

  it('that this account may not read is refused with exit 2, by the program that root installed', (context) => {
    context.skip(process.getuid?.() !== 0, 'only root can become another account')
    const folder = temporaryFolder()
    chmodSync(folder, 0o755)
    writeFileSync(join(folder, '.env'), 'JOBTIDE_API_KEY=sk-1\n', { mode: 0o600 })
    const call = () => {
      const how = { cwd: folder, uid: 65_534, encoding: 'utf8' as const }
      const { status, stderr } = spawnSync(process.execPath, [CLI, 'plan', 'nightly'], how)
      return [status, stderr] as const
    }
    expect(call()).toEqual([
      2,
      expect.stringMatching(/^jobtide: this account may not read .*[.]env\n.*`LoadCredential=`/s),
    ])
    rmSync(join(folder, '.env'))
    expect(call()).toEqual([0, ''])
  })
})
