/**
 * Runs the pages. Blocks tagged `sh run` are run, word for word, in one folder against a simulator, with the list of its
 * organisations there. The block tagged `text output` below one must be what they print, with numbers, dates and ids left
 * open; of `output=shape` the first word of each line that is not indented. With UPDATE=1 the outputs are written.
 */

import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { worldAround } from '../../src/cli/simulator-commands.ts'
import { writeOrganizationsFile } from '../../src/simulator/events.ts'
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { packageRoot } from '../../src/support/assets.ts'
import { realClock } from '../../src/support/clock.ts'
import { hasPostgres, startPostgres } from '../helpers/postgres.ts'
import { read, readBlocks, type Block } from './markdown.ts'

const CLI = join(packageRoot, 'dist', 'cli.js')
const UPDATE = process.env['UPDATE'] === '1'
const KEY = 'docs-simulator-key'
// Such a block is skipped where there is no PostgreSQL.
const ON_POSTGRES = 'sh run=postgres'
// The pages write this for the folder in which a reader runs the commands.
const SHOWN_FOLDER = '/srv/jobtide'

const run = promisify(execFile)

/**
 * Declares a test for each command of `pages`.
 * @returns the folder in which they run
 * @param before commands to run in the folder first
 */
export function describePages(pages: readonly string[], before = '') {
  let home = ''
  let simulator: Simulator
  let postgres: Awaited<ReturnType<typeof startPostgres>> | null = null
  const workFolder = () => join(home, 'work')
  const sh = async (script: string) => {
    const env = {
      PATH: `${join(home, 'bin')}:${process.env['PATH'] ?? ''}`,
      HOME: home,
      TZ: 'UTC',
      JOBTIDE_BASE_URL: simulator.url,
      JOBTIDE_API_KEY: KEY,
      ...(postgres === null ? {} : { JOBTIDE_PG_URL: postgres.url }),
    }
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: workFolder(),
      env,
    })
    return stdout
  }

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'jobtide-docs-'))
    const source = worldAround(realClock.now(), 7, 60)
    simulator = await startSimulator({ source, clock: realClock, apiKeys: [KEY] })
    mkdirSync(workFolder())
    const isAsked = pages.some((page) => read(page).includes(ON_POSTGRES))
    if (isAsked && hasPostgres) postgres = await startPostgres()
    writeNpx(join(home, 'bin'))
    writeOrganizationsFile(join(workFolder(), 'organizations.csv'), simulator.organizations())
    if (before !== '') await sh(before)
  }, 180_000)

  afterAll(async () => {
    await simulator.close()
    postgres?.remove()
    rmSync(home, { recursive: true, force: true })
  })

  describe.each([...pages])('%s', (page) => {
    const outputs = new Map<Block, string>()
    const blocks = readBlocks(read(page))
    const runs = blocks.flatMap((block, index) =>
      ['sh run', ON_POSTGRES].includes(block.info) ? [{ block, output: blocks[index + 1] }] : [],
    )
    const tests = runs.map((one) => [one.block.text.trim().split('\n').at(-1), one] as const)
    const needsPostgres = ([, { block }]: (typeof tests)[number]) => block.info === ON_POSTGRES
    const execute = async (
      _: string | undefined,
      { block, output }: (typeof runs)[number],
    ): Promise<void> => {
      // The install made this checkout; .ci/run tests it for real.
      const stdout = await sh(block.text.replace(/^npm ci && /, ''))
      if (!output?.info.startsWith('text output')) return
      const shown = stdout.replaceAll(workFolder(), SHOWN_FOLDER)
      outputs.set(output, shown)
      if (UPDATE) return
      const compared = output.info === 'text output' ? words : firstWords
      expect(compared(shown)).toEqual(compared(output.text))
    }

    afterAll(() => {
      if (UPDATE) writeFileSync(join(packageRoot, page), withOutputs(read(page), blocks, outputs))
    })

    it('has commands to run', () => {
      expect(runs.length).toBeGreaterThan(0)
    })

    it.each(tests.filter((one) => !needsPostgres(one)))('%s', execute, 120_000)
    it.skipIf(!hasPostgres).each(tests.filter(needsPostgres))('%s', execute, 120_000)
  })

  it('no request reached the simulator without the key', () => {
    expect(simulator.account().by_status[401] ?? 0).toBe(0)
    expect(simulator.account().credits).toBeGreaterThan(0)
  })

  return { folder: workFolder }
}

function withOutputs(
  markdown: string,
  blocks: readonly Block[],
  outputs: ReadonlyMap<Block, string>,
): string {
  let index = -1
  return markdown.replaceAll(
    /^([ ]*)```([^\n]*)\n([\s\S]*?)^\1```$/gm,
    (old, indent: string, info: string) => {
      index += 1
      const block = blocks[index]
      const output = block === undefined ? undefined : outputs.get(block)
      if (output === undefined) return old
      const lines = output.trim().split('\n')
      const body = lines.map((line) => `${indent}${line}`.trimEnd()).join('\n')
      return `${indent}\`\`\`${info}\n${body}\n${indent}\`\`\``
    },
  )
}

// `npx jobtide` in a checkout runs that checkout's own command line. Outside of it, in the folder of the test, this does.
function writeNpx(bin: string): void {
  if (!existsSync(CLI)) throw new Error('dist is missing: npm run build')
  mkdirSync(bin)
  const script = `#!/bin/sh\n[ "$1" = jobtide ] || exit 127\nshift\nexec "${process.execPath}" "${CLI}" "$@"\n`
  writeFileSync(join(bin, 'npx'), script)
  chmodSync(join(bin, 'npx'), 0o755)
}

/** The output of a run, with a pattern in place of what changes from day to day. */
function words(output: string): string[] {
  return output
    .trim()
    .split('\n')
    .map((line) =>
      line
        .replaceAll(/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, 'ID')
        // Milliseconds decide which organisation has the earliest watermark.
        .replaceAll(/\borg_[0-9a-f]{16}\b/g, 'ORGANISATION')
        .replaceAll(/\/\S*\/data\b/g, 'DATA')
        .replaceAll(/\d[\d.,:TZ-]*/g, 'N')
        .replaceAll(/\bN (?:min|ms|s|h|k?B|MB)\b/g, 'N')
        .replaceAll(/\b(\p{L}+?)(?:es|s)\b/gu, '$1')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
}

function firstWords(output: string): string[] {
  const lines = output
    .split('\n')
    .filter((line) => !line.startsWith(' '))
    // Which organisation cost most depends on the hour: the simulator's world moves with the clock.
    .map((line) => (line.includes('(org_') ? 'ORGANISATION' : line))
  const first = words(lines.join('\n')).map((line) => line.split(' ', 1)[0] ?? '')
  return first.filter((word, index) => word !== '' && word !== first[index - 1])
}
