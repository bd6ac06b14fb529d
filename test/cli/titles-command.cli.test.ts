/** `titles`: lists as people keep them in, one row for each out, as CSV or JSON. */

import { spawn, spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseTitles } from '../../src/cli/titles-input.ts'
import { CLI, callCli } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const bytes = (text: string) => Buffer.from(text)

describe('a list of titles', () => {
  it.each([
    [
      'a title a line, with a comma',
      'Account Executive, EMEA\nCEO\n',
      ['Account Executive, EMEA', 'CEO'],
    ],
    ['Windows line ends and blank lines', '\r\nCEO\r\n\r\n CTO \r\n', ['CEO', 'CTO']],
    [
      'CSV with one column, unquoted comma',
      'title\nAccount Executive, EMEA\n',
      ['Account Executive, EMEA'],
    ],
    ['CSV with a byte order mark', '\ufeffTitle\nCEO\n', ['CEO']],
    [
      'CSV with quotes and other columns',
      'id,title\n1,"VP, Sales"\n2,"a ""b"""\n',
      ['VP, Sales', 'a "b"'],
    ],
    ['semicolons', 'title;country\nVP, Sales;DE\n', ['VP, Sales']],
    ['a blank line before the header', '\n\ntitle\nCEO\n', ['CEO']],
    ['an empty title among others', 'id,title\n1,\n2,CEO\n', ['', 'CEO']],
  ])('%s', (_, text, titles) => {
    expect(parseTitles(bytes(text), 'list')).toEqual({ kind: 'titles', titles })
  })

  it('UTF-16 with a byte order mark is read as what it is', () => {
    const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('Müller\n', 'utf16le')])
    expect(parseTitles(utf16, 'list')).toEqual({ kind: 'titles', titles: ['Müller'] })
  })

  it('with previous and current is a list of pairs, in whatever order the columns stand', () => {
    expect(parseTitles(bytes('current,who,previous\nCEO,x,"COO, EMEA"\n'), 'list')).toEqual({
      kind: 'pairs',
      pairs: [['COO, EMEA', 'CEO']],
    })
  })

  it.each([
    ['', 'list: there is no title in it'],
    ['\n \n', 'list: there is no title in it'],
    ['title\n', 'list: there is no title in it'],
    ['id,title\n1,VP, Sales\n', 'list:2: 3 cells, but the first line names 2 columns'],
    ['id,title\n1,"VP\n', 'list: not CSV: Quote Not Closed'],
  ])('%j is refused: %s', (text, message) => {
    expect(() => parseTitles(bytes(text), 'list')).toThrow(message)
  })
})

describe('jobtide titles', () => {
  const titlesFile = (text: string) => {
    const file = join(temporaryFolder(), 'titles.csv')
    writeFileSync(file, text)
    return file
  }

  it('prints 1 row for each title with the columns of the contract', async () => {
    const { stdout, exitCode } = await callCli([
      'titles',
      titlesFile('Sr. Software Engineer\nzzgl\n'),
    ])
    expect(exitCode).toBe(0)
    const [header, engineer, nothing, ...rest] = stdout.split('\n')
    expect(header).toBe('title,level,rank,is_management,function,core,rule,confidence')
    expect(engineer).toMatch(
      /^Sr\. Software Engineer,senior,\d+,false,engineering,software engineer,/,
    )
    expect(nothing).toMatch(/^zzgl,unknown,,,unknown,zzgl,unknown,0$/)
    expect(rest).toEqual([''])
  })

  it('prints 1 row for each pair, as JSON where it is asked for', async () => {
    const file = titlesFile('previous,current\nVP Sales,SVP Sales\nCEO,Chief Executive Officer\n')
    for (const option of [['--json'], ['--format', 'json']]) {
      const { stdout } = await callCli(['titles', file, ...option])
      const rows = JSON.parse(stdout) as Record<string, unknown>[]
      expect(rows.map(({ previous, current, label }) => [previous, current, label])).toEqual([
        ['VP Sales', 'SVP Sales', 'promotion'],
        ['CEO', 'Chief Executive Officer', 'retitle'],
      ])
      expect(Object.keys(rows[0] ?? {})).toEqual([
        'previous',
        'current',
        'label',
        'confidence',
        'rule',
      ])
    }
  })

  it('reads standard input, and 20,000 lines of it with a progress line on stderr', () => {
    const input = 'Registered Nurse\nVP Sales\n'.repeat(10_000)
    for (const args of [['titles'], ['titles', '-']]) {
      const result = spawnSync(process.execPath, [CLI, ...args], {
        input,
        encoding: 'utf8',
        maxBuffer: 1e8,
      })
      expect(result.stdout.split('\n')).toHaveLength(20_002)
      expect(result.stderr).toMatch(/^titles +100% {2}20,000 titles in /m)
    }
  })

  it('ends with 130 at Ctrl-C while it waits for standard input', async () => {
    const child = spawn(process.execPath, [CLI, 'titles'], { stdio: ['pipe', 'pipe', 'pipe'] })
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
    // More than a pipe holds: it is all written when the command reads.
    await new Promise((resolve) => child.stdin.write('CEO\n'.repeat(100_000), resolve))
    child.kill('SIGINT')
    expect(await ended).toBe(130)
  })

  it.skipIf(!existsSync('/dev/full'))(
    'ends with 9 when its output cannot be written (skipped without /dev/full)',
    () => {
      const full = openSync('/dev/full', 'w')
      const result = spawnSync(process.execPath, [CLI, 'titles'], {
        input: 'CEO\n',
        encoding: 'utf8',
        stdio: ['pipe', full, 'pipe'],
      })
      closeSync(full)
      expect([result.status, result.stderr]).toEqual([
        9,
        expect.stringMatching(/^jobtide: standard output: the disk is full \(ENOSPC\)/),
      ])
    },
  )

  it('ends with 2 and says what to do about a missing file and an unknown ladder', async () => {
    const missing = await callCli(['titles', 'no-such-file.csv'])
    expect([missing.exitCode, missing.stderr]).toEqual([
      2,
      expect.stringMatching(/^jobtide: list of titles .*no-such-file\.csv: there is no such file/),
    ])
    const ladder = await callCli(['titles', titlesFile('CEO\n'), '--ladder', 'nowhere'])
    expect([ladder.exitCode, ladder.stderr]).toEqual([
      2,
      expect.stringMatching(/^jobtide: there is no ladder nowhere\n {2}→ config\/ladders\.yaml/),
    ])
  })
})
