/** `titles`: reads lists in the formats people have, and prints one row for each title as CSV or JSON. */

import { spawn, spawnSync } from 'node:child_process'
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseTitles } from '../../src/cli/titles-command.ts'
import { CLI, callCli } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

describe('a list of titles', () => {
  const comma = 'Account Executive, EMEA'
  it.each([
    ['a title a line, with a comma', `${comma}\nCEO\n`, [comma, 'CEO']],
    ['Windows line ends and blank lines', '\r\nCEO\r\n\r\n CTO \r\n', ['CEO', 'CTO']],
    ['CSV with one column, unquoted comma', `title\n${comma}\n`, [comma]],
    ['CSV with a byte order mark', '\ufeffTitle\nCEO\n', ['CEO']],
    ['CSV with quotes', 'id,title\n1,"VP, Sales"\n2,"a ""b"""\n', ['VP, Sales', 'a "b"']],
    ['semicolons', 'title;country\nVP, Sales;DE\n', ['VP, Sales']],
    ['a blank line before the header', '\n\ntitle\nCEO\n', ['CEO']],
    ['an empty title among others', 'id,title\n1,\n2,CEO\n', ['', 'CEO']],
  ])('%s', (_, text, titles) => {
    expect(parseTitles(Buffer.from(text), 'list').flat()).toEqual(titles)
  })

  it('UTF-16 with a byte order mark is read as UTF-16', () => {
    const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('Müller\n', 'utf16le')])
    expect(parseTitles(utf16, 'list')).toEqual([['Müller']])
  })

  it.each([
    ['\n \n', 'list: there is no title in it'],
    ['title\n', 'list: there is no title in it'],
    ['PK\u0003\u0004\u0014', 'list is an Excel file or another archive, not a list in text'],
    ['id,title\n1,VP, Sales\n', 'list:2: 3 cells, but the first line names 2 columns'],
    ['id,title\n1,"VP\n', 'not a list of rows: a quote is not closed, or stands within a cell'],
  ])('%j is refused: %s', (text, message) => {
    expect(() => parseTitles(Buffer.from(text), 'list')).toThrow(message)
  })
})

describe('jobtide titles', () => {
  const titlesFile = (text: string) => {
    const file = join(temporaryFolder(), 'titles.csv')
    writeFileSync(file, text)
    return file
  }

  it('prints 1 row for each title with the columns of the contract', async () => {
    const { stdout } = await callCli(['titles', titlesFile('Sr. Software Engineer\nzzgl\n')])
    expect(stdout.split('\n')).toEqual([
      'title,level,rank,is_management,function,core,is_side_role,rule,confidence,is_advisory,is_end_marker',
      expect.stringMatching(
        /^Sr\. Software Engineer,senior,\d+,false,engineering,software engineer,false,/,
      ),
      'zzgl,unknown,,,unknown,zzgl,false,unknown,0,false,false',
      '',
    ])
  })

  it('uses a list that was changed after the package was built', () => {
    const home = dirname(dirname(CLI))
    const copy = temporaryFolder()
    for (const part of ['dist', 'config', 'package.json'])
      cpSync(join(home, part), join(copy, part), { recursive: true })
    const list = join(copy, 'config', 'titles', 'levels.yaml')
    const text = readFileSync(list, 'utf8')
    writeFileSync(
      list,
      text.replace(/posts:\n/, 'posts:\n  - { level: director, words: { en: zzgl } }\n'),
    )
    const args = [join(copy, 'dist', 'cli.js'), 'titles', titlesFile('zzgl\n')]
    expect(spawnSync(process.execPath, args, { encoding: 'utf8' })).toMatchObject({
      stdout: expect.stringMatching(/^title,.*\nzzgl,director,/),
      stderr: '',
    })
  })

  it('prints 1 row for each pair, in any order of columns, and as JSON on request', async () => {
    const pairs = 'current,who,previous\nSVP Sales,x,"VP Sales"\nChief Executive Officer,y,CEO\n'
    for (const option of [['--json'], ['--format', 'json']]) {
      const { stdout } = await callCli(['titles', titlesFile(pairs), ...option])
      const rows = JSON.parse(stdout) as Record<string, unknown>[]
      expect(rows).toMatchObject([
        { previous: 'VP Sales', current: 'SVP Sales', label: 'promotion' },
        { previous: 'CEO', current: 'Chief Executive Officer', label: 'retitle' },
      ])
      const keys = ['previous', 'current', 'label', 'confidence', 'rule']
      expect(Object.keys(rows[0] ?? {})).toEqual(keys)
    }
  })

  it('reads standard input, and 20,000 lines of it with a progress line on stderr', () => {
    const input = 'Registered Nurse\nVP Sales\n'.repeat(10_000)
    const options = { input, encoding: 'utf8', maxBuffer: 1e8 } as const
    const result = spawnSync(process.execPath, [CLI, 'titles', '-'], options)
    expect(result.stdout.split('\n')).toHaveLength(20_002)
    expect(result.stderr).toMatch(/^titles +100% {2}20,000 titles in /m)
  })

  it('exits with 130 at Ctrl-C while it waits for standard input', async () => {
    const child = spawn(process.execPath, [CLI, 'titles'], { stdio: ['pipe', 'pipe', 'pipe'] })
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
    // More than a pipe holds: all of it is written once the command reads.
    await new Promise((resolve) => child.stdin.write('CEO\n'.repeat(100_000), resolve))
    child.kill('SIGINT')
    expect(await ended).toBe(130)
  })

  it.skipIf(!existsSync('/dev/full'))(
    'exits with 9 if its output cannot be written (skipped without /dev/full)',
    () => {
      const full = openSync('/dev/full', 'w')
      const { status, stderr } = spawnSync(process.execPath, [CLI, 'titles'], {
        input: 'CEO\n',
        encoding: 'utf8',
        stdio: ['pipe', full, 'pipe'],
      })
      closeSync(full)
      expect(status).toBe(9)
      expect(stderr).toMatch(/^jobtide: standard output: the disk is full \(ENOSPC\)/)
    },
  )

  it('exits with 2 if its output is open for reading only', () => {
    const none = openSync('/dev/null', 'r')
    const { status, stderr } = spawnSync(process.execPath, [CLI, 'titles'], {
      input: 'CEO\n',
      encoding: 'utf8',
      stdio: ['pipe', none, 'pipe'],
    })
    closeSync(none)
    expect([status, stderr]).toEqual([
      2,
      expect.stringMatching(/^jobtide: standard output cannot be written/),
    ])
  })

  it('exits with 2 and says what to do about a missing file and an unknown ladder', async () => {
    const missing = await callCli(['titles', 'no-such-file.csv'])
    const ladder = await callCli(['titles', titlesFile('CEO\n'), '--ladder', 'nowhere'])
    expect([missing.exitCode, ladder.exitCode]).toEqual([2, 2])
    expect(missing.stderr).toMatch(/list of titles .*no-such-file\.csv: there is no such file/)
    expect(ladder.stderr).toMatch(
      /^jobtide: there is no ladder nowhere\n {2}→ Define it in config\/ladders\.yaml/,
    )
  })

  it('reads by the ladders of the project in the current folder', async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'config'))
    writeFileSync(
      join(folder, 'config', 'ladders.yaml'),
      'ladders:\n  - { name: mine, rungs: [{ title: guru, level: director }] }\n',
    )
    const args = ['titles', titlesFile('Guru\n'), '--json']
    const levelOf = ({ stdout }: { stdout: string }) =>
      (JSON.parse(stdout) as { level: string }[]).map(({ level }) => level)
    expect(levelOf(await callCli([...args, '--ladder', 'mine'], { cwd: folder }))).toEqual([
      'director',
    ])
    expect(levelOf(await callCli(args, { cwd: folder }))).not.toEqual(['director'])
  })
})
