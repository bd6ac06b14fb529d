/**
 * The README is true. Blocks tagged `sh run` are run, word for word, in one new folder against a simulator, with the list of
 * its organisations there; the block tagged `text output` below one must be what they print, with numbers, dates and ids left
 * open, and `output=shape` the first word of each line that is not indented. Tables of commands, exit codes, keys, variables
 * and warehouse tables are compared with the program. `UPDATE=1 npx vitest run test/docs.cli.test.ts` (after a build) writes
 * outputs and warehouse tables anew.
 */

import { execFile } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { format } from 'prettier'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { worldAround } from '../src/cli/simulate-command.ts'
import { computedModels } from '../src/model/computed-models.ts'
import { pipelineSchema } from '../src/plan/pipeline.ts'
import { writeOrganizationsFile } from '../src/simulator/organizations-file.ts'
import { startSimulator, type Simulator } from '../src/simulator/simulator.ts'
import { packageRoot } from '../src/support/assets.ts'
import { realClock } from '../src/support/clock.ts'
import { EXIT } from '../src/support/errors.ts'
import { loadedTables, readModelFiles } from '../src/warehouse/catalog.ts'
import { openWarehouse } from '../src/warehouse/warehouse.ts'

const README = join(packageRoot, 'README.md')
const CLI = join(packageRoot, 'dist', 'cli.js')
const UPDATE = process.env['UPDATE'] === '1'
const KEY = 'readme-simulator-key'
// Stands in the README for the folder in which a reader runs the commands.
const SHOWN_FOLDER = '/srv/jobtide'

const run = promisify(execFile)
const readme = readFileSync(README, 'utf8')
const blocks = readBlocks(readme)

describe('README commands', () => {
  const runs = blocks.flatMap((block, index) =>
    block.info === 'sh run' ? [{ block, output: blocks[index + 1] }] : [],
  )
  const outputs = new Map<Block, string>()
  let folder: string
  let simulator: Simulator
  let env: NodeJS.ProcessEnv

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'jobtide-readme-'))
    simulator = await startSimulator({
      source: worldAround(realClock.now(), 7, 60),
      clock: realClock,
      apiKeys: [KEY],
    })
    mkdirSync(join(folder, 'work'))
    writeOrganizationsFile(join(folder, 'work', 'organizations.csv'), simulator.organizations())
    env = {
      PATH: `${npxOfThisCheckout(folder)}:${process.env['PATH'] ?? ''}`,
      HOME: folder,
      TZ: 'UTC',
      JOBTIDE_BASE_URL: simulator.url,
      JOBTIDE_API_KEY: KEY,
    }
  })

  afterAll(async () => {
    await simulator.close()
    rmSync(folder, { recursive: true, force: true })
    if (UPDATE) writeFileSync(README, await withOutputs(readFileSync(README, 'utf8'), outputs))
  })

  it('has commands to run', () => {
    expect(runs.length).toBeGreaterThan(5)
  })

  it.each(runs.map(({ block, output }) => [block.text.trim().split('\n').at(-1), block, output]))(
    '%s',
    async (_, block, output) => {
      const { text } = block as Block
      const cwd = join(folder, 'work')
      mkdirSync(cwd, { recursive: true })
      // The install is what made this checkout; .ci/run does it for real.
      const script = text.replace(/^npm ci && /, '')
      const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], { cwd, env })
      const printed = output as Block | undefined
      if (!printed?.info.startsWith('text output')) return
      outputs.set(printed, stdout.replaceAll(cwd, SHOWN_FOLDER))
      if (UPDATE) return
      const compared = printed.info === 'text output' ? words : firstWords
      expect(compared(stdout)).toEqual(compared(printed.text))
    },
    60_000,
  )

  it('views.sql gives any DuckDB the tables of the snapshot', async () => {
    const snapshots = join(folder, 'work', 'data', 'snapshots', 'snapshots')
    const views = readFileSync(join(snapshots, latest(readdirSync(snapshots)), 'views.sql'), 'utf8')
    const engine = await openWarehouse({ path: ':memory:', mode: 'write' })
    try {
      await engine.run('create schema there; use there')
      await engine.run(views)
      const [count] = await engine.all<{ rows: bigint }>('select count(*) as rows from joiners')
      expect(Number(count?.rows)).toBeGreaterThan(100)
    } finally {
      engine.close()
    }
  })

  it.each(
    blocks
      .filter(({ info }) => info === 'sql analyst')
      .map(({ text }) => [text.split('\n', 1)[0], text]),
  )('analyst.duckdb answers: %s …', async (_, sql) => {
    const path = join(folder, 'work', 'data', 'analyst.duckdb')
    const engine = await openWarehouse({ path, mode: 'read' })
    try {
      expect((await engine.table(sql ?? '')).rows.length).toBeGreaterThan(3)
    } finally {
      engine.close()
    }
  })

  it('the simulator was never asked by anybody without the key', () => {
    expect(simulator.account().by_status[401] ?? 0).toBe(0)
    expect(simulator.account().credits).toBeGreaterThan(0)
  })
})

describe('README tables', () => {
  it('name every command of the program, and no other', async () => {
    const { stdout } = await run(process.execPath, [CLI, '--help'])
    const commands = [...stdout.matchAll(/^ {2}([a-z-]+)(?: \[| <|\s{2})/gm)].map(
      ([, name]) => name,
    )
    const documented = columnOf('command').map((cell) => /^`([a-z-]+)/.exec(cell)?.[1])
    expect(new Set(documented)).toEqual(new Set(commands.filter((name) => name !== 'help')))
  })

  it('name every option that overrides a pipeline file', async () => {
    const { stdout } = await run(process.execPath, [CLI, 'run', '--help'])
    const options = [...stdout.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, option]) => option ?? '')
    expect(options.length).toBeGreaterThan(8)
    expect(options.filter((option) => !readme.includes(`\`${option}`))).toEqual([])
  })

  it('name every exit code, and give commands no others', () => {
    const codes = Object.values(EXIT).map(String)
    expect(columnOf('exit')).toEqual(codes)
    const given = columnOf('can exit with').flatMap((cell) => cell.split(', '))
    expect(new Set(given)).toEqual(new Set(codes.filter((code) => code !== '1')))
  })

  it('name every key of a pipeline file with its default', () => {
    const { limits, snapshot } = pipelineSchema.shape
    const groups = { limits: limits.unwrap().shape, snapshot: snapshot.unwrap().shape }
    const keys = Object.keys(pipelineSchema.shape).flatMap((key) =>
      key in groups
        ? Object.keys(groups[key as keyof typeof groups]).map((nested) => `${key}.${nested}`)
        : [key],
    )
    expect(columnOf('key', 'default').map(unquoted)).toEqual(keys)
    const defaults = pipelineSchema.parse({
      name: 'x',
      organizations: 'x',
      window: 'all',
      snapshot: { to: 'x' },
    })
    const documented = new Map(
      columnOf('key', 'default').map((key, index) => [unquoted(key), columnOf('default')[index]]),
    )
    expect(documented.get('initial_window')).toBe(String(defaults.initial_window))
    expect(documented.get('overlap_hours')).toBe(String(defaults.overlap_hours))
    expect(documented.get('limits.concurrency')).toBe(String(defaults.limits.concurrency))
    expect(documented.get('limits.max_wait')).toBe(defaults.limits.max_wait)
    expect(documented.get('snapshot.keep')).toBe(JSON.stringify(defaults.snapshot?.keep))
    expect(defaults.event_types).toHaveLength(3)
  })

  it('name every variable that the program reads', () => {
    const code = readFileSync(join(packageRoot, 'src', 'config.ts'), 'utf8')
    const variables = new Set(
      [...code.matchAll(/'(JOBTIDE_[A-Z0-9_]+|[A-Z]+_PROXY)'/g)].map(([, name]) => name),
    )
    // Read by Node itself, and named where a certificate is not trusted.
    variables.add('NODE_EXTRA_CA_CERTS')
    expect(new Set(columnOf('variable').map(unquoted))).toEqual(variables)
  })

  it('tell grain and key of every table of the warehouse', async () => {
    const expected = await warehouseTables()
    if (UPDATE) {
      const text = expected.reduce(replaceTable, readFileSync(README, 'utf8'))
      writeFileSync(README, await formatted(text))
    }
    const tables = readTables(UPDATE ? readFileSync(README, 'utf8') : readme)
    for (const { head, rows } of expected) {
      const table = tables.find((one) => one.head.join('|') === head.join('|'))
      expect(table?.rows).toEqual(rows)
    }
  })
})

describe('documents', () => {
  const documents = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md']

  it.each(documents)('%s links only to files that exist', (name) => {
    const links = [...read(name).matchAll(/\]\(([^)#:]+)\)/g)].map(([, target]) => target ?? '')
    expect(links.filter((target) => !existsSync(join(packageRoot, target)))).toEqual([])
  })

  it('the code map of ARCHITECTURE.md has every folder of src', () => {
    const folders = readdirSync(join(packageRoot, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
    const text = read('ARCHITECTURE.md')
    expect(folders.filter((name) => !text.includes(`\`src/${name}/\``))).toEqual([])
  })

  it('paths in ARCHITECTURE.md and CONTRIBUTING.md exist', () => {
    const text = read('ARCHITECTURE.md') + read('CONTRIBUTING.md')
    const paths = [...text.matchAll(/`((?:src|sql|test|config|pipelines|\.ci)\/[\w./-]*)`/g)]
    expect(paths.length).toBeGreaterThan(20)
    const missing = paths.map(([, path]) => path ?? '')
    expect(missing.filter((path) => !existsSync(join(packageRoot, path)))).toEqual([])
  })

  it('ARCHITECTURE.md says why each dependency is there', () => {
    const { dependencies, devDependencies } = JSON.parse(read('package.json')) as {
      dependencies: Record<string, string>
      devDependencies: Record<string, string>
    }
    const names = Object.keys({ ...dependencies, ...devDependencies })
    const text = read('ARCHITECTURE.md')
    expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([])
  })

  it('CHANGELOG.md begins with the version of package.json', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string }
    expect(/^## (\S+)/m.exec(read('CHANGELOG.md'))?.[1]).toBe(version)
  })

  it('every script that CONTRIBUTING.md or README.md names exists', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const named = [...(readme + read('CONTRIBUTING.md')).matchAll(/`npm run ([a-z:]+)/g)]
    expect(named.length).toBeGreaterThan(1)
    expect(named.map(([, name]) => name ?? '').filter((name) => !(name in scripts))).toEqual([])
  })
})

interface Block {
  /** What follows the opening fence, such as `sh run`. */
  readonly info: string
  readonly text: string
  readonly indent: string
}

function readBlocks(markdown: string): Block[] {
  const pattern = /^([ ]*)```([^\n]*)\n([\s\S]*?)^\1```$/gm
  return [...markdown.matchAll(pattern)].map(([, indent = '', info = '', text = '']) => ({
    info,
    indent,
    text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }))
}

interface MarkdownTable {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

function readTables(markdown: string): MarkdownTable[] {
  return [...markdown.matchAll(/(?:^\|.*\|\n)+/gm)].map(([text]) => {
    const [head = [], , ...rows] = text
      .trim()
      .split('\n')
      .map((line) =>
        line
          .slice(1, -1)
          .split(/(?<!\\)\|/)
          .map((cell) => cell.trim()),
      )
    return { head, rows }
  })
}

/** The cells below a heading, of the table that has it (and `also`). */
function columnOf(heading: string, also = heading): string[] {
  const table = readTables(readme).find(({ head }) => head.includes(heading) && head.includes(also))
  const index = table?.head.indexOf(heading) ?? -1
  return table?.rows.map((row) => row[index] ?? '') ?? []
}

async function warehouseTables(): Promise<MarkdownTable[]> {
  const definitions = [...loadedTables, ...computedModels, ...readModelFiles()]
  const warehouse = await openWarehouse({ path: ':memory:', mode: 'write' })
  try {
    const ops = await warehouse.all<{ name: string; comment: string }>(
      `select table_name as name, comment from duckdb_tables() where schema_name = 'ops'
       union all select view_name, comment from duckdb_views() where schema_name = 'ops' order by 1`,
    )
    return [
      {
        head: ['table', 'grain', 'key'],
        rows: definitions.map(({ name, grain, key }) => [`\`${name}\``, grain, key.join(', ')]),
      },
      {
        head: ['table', 'grain and key'],
        rows: ops.map(({ name, comment }) => [`\`ops.${name}\``, comment]),
      },
    ]
  } finally {
    warehouse.close()
  }
}

function replaceTable(markdown: string, { head, rows }: MarkdownTable): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`
  const table = [head, head.map(() => '---'), ...rows].map(line).join('')
  return markdown.replaceAll(/(?:^\|.*\|\n)+/gm, (old) =>
    readTables(old)[0]?.head.join('|') === head.join('|') ? table : old,
  )
}

async function withOutputs(markdown: string, outputs: ReadonlyMap<Block, string>): Promise<string> {
  let index = -1
  const text = markdown.replaceAll(
    /^([ ]*)```([^\n]*)\n([\s\S]*?)^\1```$/gm,
    (old, indent: string, info: string) => {
      index += 1
      const block = blocks[index]
      const output = block === undefined ? undefined : outputs.get(block)
      if (output === undefined) return old
      const lines = output.trim().split('\n')
      const body = lines.map((line) => (line === '' ? '\n' : `${indent}${line}\n`)).join('')
      return `${indent}\`\`\`${info}\n${body}${indent}\`\`\``
    },
  )
  return formatted(text)
}

async function formatted(markdown: string): Promise<string> {
  return format(markdown, { parser: 'markdown', printWidth: 100, semi: false, singleQuote: true })
}

// `npx jobtide` in a checkout runs that checkout's own command line. Outside of it, in the folder of the test, this does.
function npxOfThisCheckout(folder: string): string {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const script = `#!/bin/sh\n[ "$1" = jobtide ] || exit 127\nshift\nexec "${process.execPath}" "${CLI}" "$@"\n`
  writeFileSync(join(bin, 'npx'), script)
  chmodSync(join(bin, 'npx'), 0o755)
  return bin
}

/** What a run prints, with what changes from day to day left open. */
function words(output: string): string[] {
  return output
    .trim()
    .split('\n')
    .map((line) =>
      line
        .replaceAll(/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, 'ID')
        // Which organisation was read least far is a matter of milliseconds.
        .replaceAll(/\borg_[0-9a-f]{16}\b/g, 'ORGANISATION')
        .replaceAll(/\/\S*\/data\b/g, 'DATA')
        .replaceAll(/\d[\d.,:TZ-]*/g, 'N')
        .replaceAll(/\bN (?:min|ms|s|h|k?B|MB)\b/g, 'N')
        .replaceAll(/\b(\p{L}+)s\b/gu, '$1')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
}

function firstWords(output: string): string[] {
  const lines = output
    .split('\n')
    .filter((line) => !line.startsWith(' '))
    // Who was dearest depends on the hour: the simulator's world moves with the clock.
    .map((line) => (line.includes('(org_') ? 'ORGANISATION' : line))
  const first = words(lines.join('\n')).map((line) => line.split(' ', 1)[0] ?? '')
  return first.filter((word, index) => word !== '' && word !== first[index - 1])
}

function unquoted(cell: string): string {
  return cell.replaceAll('`', '')
}

function latest(names: readonly string[]): string {
  return names.toSorted().at(-1) ?? ''
}

function read(path: string): string {
  return readFileSync(join(packageRoot, path), 'utf8')
}
