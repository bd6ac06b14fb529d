/**
 * Enforces the rules of this repository: who may import whom, what only one file may touch, and the form of every SQL
 * file, test and package version. The linter limits the length of files and functions, and refuses cycles of imports.
 */

import { readFileSync, readdirSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMANDS } from '../src/cli/declarations.ts'
import { DOCUMENTS } from '../src/cli/documents.ts'
import { buildModels } from '../src/model/build.ts'
import { checksOfHeaders, readChecks } from '../src/model/checks.ts'
import { computedModels } from '../src/model/computed-models.ts'
import { packageRoot, sqlFolder } from '../src/support/assets.ts'
import { offeredAsKnownOn } from '../src/model/as-known-on.ts'
import { readProject, type ProjectNode } from '../src/model/project.ts'
import { ENDPOINTS } from '../src/api/endpoints/endpoints.ts'
import { readModelFiles, SIGNAL_DELIVERY } from '../src/warehouse/catalog.ts'
import { unaskedTable } from '../src/warehouse/endpoint-tables.ts'
import { openWarehouse, type Warehouse } from '../src/warehouse/warehouse.ts'
import { askEveryEndpoint } from './helpers/warehouse.ts'

const NOT_OURS = new Set(['node_modules', 'dist', 'data', 'coverage', '.git'])

const files = filesBelow('.').filter((path) => !NOT_OURS.has(path.split('/', 1)[0] ?? ''))
const typeScript = files.filter((path) => path.endsWith('.ts'))
const source = typeScript.filter((path) => path.startsWith('src/'))
const tests = typeScript.filter((path) => path.startsWith('test/'))

describe('imports', () => {
  const base = ['api', 'journal', 'warehouse', 'titles']
  const stages = ['plan', 'extract', 'load', 'model', 'publish']
  const below = ['support', ...base]
  const mayImport: Readonly<Record<string, readonly string[]>> = {
    support: [],
    simulator: ['support'],
    config: ['support'],
    ...Object.fromEntries(base.map((folder) => [folder, ['support']])),
    ...Object.fromEntries(stages.map((folder) => [folder, below])),
    report: ['support', 'warehouse'],
    observe: ['support', 'journal', 'plan'],
    inbox: ['support'],
    run: [...below, ...stages, 'report', 'inbox'],
    cli: [...below, ...stages, 'report', 'observe', 'inbox', 'run', 'simulator', 'config'],
  }

  it('know the layer of every folder of src', () => {
    expect(new Set(source.map(layerOf))).toEqual(new Set(Object.keys(mayImport)))
  })

  it.each(Object.keys(mayImport))('%s imports only from below', (layer) => {
    const wrong = source
      .filter((file) => layerOf(file) === layer)
      .flatMap((file) => localImports(file).map((target) => ({ file, target })))
      .filter(({ target }) => layerOf(target) !== layer)
      .filter(({ target }) => !mayImport[layer]?.includes(layerOf(target)))
    expect(wrong).toEqual([])
  })

  it.each([
    ['@duckdb/', /^src\/warehouse\/engine\.ts$/],
    ['@aws-sdk/', /^src\/publish\/store\/s3-(?:client|store)\.ts$/],
    ['@smithy/', /^src\/publish\/store\/s3-[a-z]+\.ts$/],
    ['undici', /^src\/api\/(?:agent|transport)\.ts$/],
    ['commander', /^src\/cli\/(?:main|options|commands)\.ts$/],
    ['cli-', /^src\/cli\//],
    ['@observablehq/', /^src\/report\/charts\.ts$/],
    ['nodemailer', /^src\/observe\/mail\.ts$/],
    ['linkedom', /^src\/report\/charts\.ts$/],
    ['pg', /^src\/publish\/postgres\.ts$/],
    ['pino', /^src\/support\/json-log\.ts$/],
  ])('of %s… are only in the files that own it', (name, owners) => {
    const importers = source.filter((file) =>
      importsOf(file).some((target) => target.startsWith(name)),
    )
    expect(importers.filter((file) => !owners.test(file))).toEqual([])
  })

  it('know no store: only one file distinguishes the address of a bucket from that of a folder', () => {
    const telling = matching(source, /\.startsWith\(['"]s3:/)
    expect(telling).toEqual(['src/publish/store/open-store.ts'])
  })

  it('of packages match the table in ARCHITECTURE.md and the dependencies of the package', () => {
    const { dependencies } = packageJson()
    const imported = source
      .flatMap((file) => importsOf(file))
      .filter((name) => !name.startsWith('.') && !name.startsWith('node:'))
      .map((name) => name.split('/', name.startsWith('@') ? 2 : 1).join('/'))
    const table =
      /^## Dependencies\n[^]*?(?=^## |(?![^]))/m.exec(read('ARCHITECTURE.md'))?.[0] ?? ''
    const named = [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, name = '']) => name)
    expect([...new Set(imported)].toSorted()).toEqual(named.toSorted())
    // Outside the bundle: the native code of the engine, in the same version as its client.
    const { '@duckdb/node-bindings': native, ...others } = dependencies
    expect(Object.keys(others).toSorted()).toEqual(named.toSorted())
    expect(native).toBe(dependencies['@duckdb/node-api'])
  })

  it.each([
    ['every command', 'process', ['commander']],
    ['`query`', 'query-command', ['cli-table3']],
    ['`titles`', 'titles-command', ['csv-parse/sync', 'yaml', 'zod']],
    ['`status`', 'status-command', ['cli-table3', 'croner', 'csv-parse/sync', 'yaml', 'zod']],
  ])('of %s at start come from few packages, none of them the engine', (_, file, packages) => {
    const loaded = new Set([`src/cli/${file}.ts`])
    for (const path of loaded) for (const target of staticImports(path)) loaded.add(target)
    const others = [...loaded].filter((name) => !/^(?:node:|src\/)/.test(name))
    expect(others.toSorted()).toEqual(packages)
  })

  it('never come from a barrel file, and there is no default export', () => {
    const barrels = source.filter((file) => {
      const statements = statementsOf(file).filter((line) => line !== '')
      return (
        basename(file) === 'index.ts' || statements.every((line) => /^export .* from/.test(line))
      )
    })
    expect(barrels).toEqual([])
    expect(matching(source, /^export (?:default\b|\*)/m)).toEqual([])
  })
})

describe('the world is an argument', () => {
  it.each([
    ['process.env', /\bprocess\.env\b|\bprocess\['env'\]/, ['src/config.ts']],
    ['Date.now', /\bDate\.now\b/, ['src/support/clock.ts']],
    ['performance', /\bperformance\.(?:now|timeOrigin)\b/, ['src/support/clock.ts']],
    ['a new Date of now', /\bnew Date(?:\(\s*\)|(?!\())|[^.\w]Date\(\)/, []],
    ['Math.random', /\bMath\.random\b/, ['src/cli/process.ts']],
    [
      'timers',
      /(?<!request\.)\bset(?:Timeout|Interval|Immediate)\b|\bnode:timers/,
      ['src/support/clock.ts', /^src\/simulator\//],
    ],
    ['console', /\bconsole\./, []],
  ] as const)('%s is only where it belongs', (_, pattern, places) => {
    const allowed = (file: string) =>
      places.some((place) => (typeof place === 'string' ? place === file : place.test(file)))
    expect(matching(source, pattern).filter((file) => !allowed(file))).toEqual([])
  })

  it('a test that leaves this machine throws', () => {
    expect(() => connect({ host: '192.0.2.1', port: 80 })).toThrow(/may not leave this machine/)
    expect(() => connect(80, 'example.com')).toThrow(/asked for example\.com/)
  })
})

describe('SQL', () => {
  const models = readModelFiles()
  const checks = [
    ...readChecks(join(sqlFolder, 'checks')),
    ...checksOfHeaders([...computedModels, ...models]),
  ]
  let warehouse: Warehouse
  let nodes: readonly ProjectNode[]

  beforeAll(async () => {
    warehouse = await openWarehouse({ path: ':memory:', mode: 'write' })
    ;({ nodes } = await readProject(warehouse))
    await askEveryEndpoint(warehouse)
    await buildModels(warehouse, { buildId: 'repo', builtAt: new Date('2026-11-20T00:00:00Z') })
    await warehouse.run(`set search_path = 'main,detail,service,core'`)
  })
  afterAll(() => warehouse.close())

  it.each(models.map((model) => [model.name, model] as const))(
    'model %s says grain, key, purpose and every column, in order',
    async (name, model) => {
      const columns = await warehouse.all<{ column_name: string; comment: string | null }>(
        `select column_name, comment from duckdb_columns()
         where schema_name in ('main', 'detail', 'service', 'core') and table_name = $1 order by column_index`,
        [name],
      )
      expect(columns.map((column) => column.column_name)).toEqual([...model.columns.keys()])
      expect(columns.filter(({ comment }) => !comment)).toEqual([])
      expect([...model.columns.keys()]).toEqual(expect.arrayContaining([...model.key]))
      for (const sentence of [model.grain, model.purpose]) expect(sentence).toMatch(/^[A-Z].*\.$/)
    },
  )

  it('models of core/ are in core, others in their tier, about 16 of them in main; only marts/ is published', () => {
    const placed = new Set(
      models.map((one) =>
        [basename(dirname(one.path)), one.schema === 'core', one.isPublished].join(' '),
      ),
    )
    expect([...placed].toSorted()).toEqual([
      'core true false',
      'marts false true',
      'staging false false',
    ])
    const everyDay = models.filter(({ schema }) => schema === 'main')
    expect(everyDay.length).toBeGreaterThan(11)
    expect(everyDay.length).toBeLessThan(20)
    expect(new Set(models.map(({ schema }) => schema)).size).toBe(4)
  })

  it('a table made from answers names its endpoint', () => {
    const known = new Set([...ENDPOINTS.keys(), SIGNAL_DELIVERY])
    const ofEndpoints = models.filter(({ endpoints = [] }) => endpoints.length > 0)
    for (const { name, endpoints = [], schema } of ofEndpoints) {
      expect(
        endpoints.filter((one) => !known.has(one)),
        name,
      ).toEqual([])
      expect(schema, name).toBe('service')
      // The pipeline of the hint exists, and asks that endpoint.
      const [, pipeline] = /`jobtide run (\w+)`/.exec(unaskedTable(name)?.hint ?? '') ?? []
      if (pipeline === undefined) continue
      const text = readFileSync(join(packageRoot, 'pipelines', `${pipeline}.yaml`), 'utf8')
      expect(text).toContain(`endpoint: ${endpoints[0]}\n`)
    }
    // These also have names from events.
    const always = ['company_identities', 'person_identities']
    const offered = new Set(offeredAsKnownOn(nodes))
    const ofAnswers = nodes.filter(({ name, schema }) => schema !== 'core' && !offered.has(name))
    expect(ofAnswers.map(({ name }) => name).toSorted()).toEqual(
      [...ofEndpoints.map(({ name }) => name), ...always].toSorted(),
    )
  })

  it('every table and column of main and ops carries a comment', async () => {
    const silent = await warehouse.all(
      `select schema_name, table_name, null as column_name from duckdb_tables()
       where schema_name in ('main', 'detail', 'service', 'core', 'ops') and comment is null
       union all
       select schema_name, table_name, column_name from duckdb_columns()
       where schema_name in ('main', 'detail', 'service', 'core', 'ops') and not internal and comment is null`,
    )
    expect(silent).toEqual([])
  })

  const VERB =
    /_(?:is|are|has|have|takes?|links?|connects?|counts?|adds?|keeps?|starts?|holds?|covers?|belongs?|match(?:es)?|sums?)(?:_|$)/

  it.each(checks.map((check) => [check.name, check.sql] as const))(
    'check %s is named as a claim, and its select returns the rows that break it',
    async (name, sql) => {
      expect(name).toMatch(VERB)
      expect(sql).toMatch(/^\s*(?:--.*\n\s*)*(?:select|with)\b/)
      const { columns, rows } = await warehouse.table(sql)
      expect(columns.length).toBeGreaterThan(0)
      expect(rows).toEqual([])
    },
  )

  // All cases share the day of the data: test/model/incremental-equals-full.db.test.ts and person_organizations test
  // it, and the headcounts test its months.
  const ofOneCase = models.filter(({ name }) => !['as_of', 'calendar_months'].includes(name))
  it.each(ofOneCase)('model $name has a case, and a check if it stores rows', ({ name, kind }) => {
    const word = new RegExp(`\\b${name}\\b`)
    const named = checks.filter(({ sql }) => word.test(sql)).map((check) => check.name)
    if (kind === 'table') expect(named).not.toEqual([])
    expect(readdirSync(join(packageRoot, 'test', 'models', name))).not.toEqual([])
  })

  it('schema files are numbered from 1 without a gap', () => {
    const names = files
      .filter((path) => path.startsWith('sql/schema/'))
      .map((path) => basename(path))
    expect(names.map((name) => /^(\d{6})_[a-z0-9_]+\.sql$/.exec(name)?.[1])).toEqual(
      names.map((_, index) => String(index + 1).padStart(6, '0')),
    )
  })
})

describe('the package', () => {
  it('pins every dependency to one version', () => {
    const { dependencies, devDependencies } = packageJson()
    const unpinned = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version),
    )
    expect(unpinned).toEqual([])
  })

  it('has every page of docs that a folder of `init` names', () => {
    const text = ['nightly.yaml', 'env.example'].map((name) => read(`config/init/${name}`)).join()
    const named = text.match(/docs\/[a-z]+\.md/g) ?? []
    expect(named.length).toBeGreaterThan(1)
    expect(named.filter((path) => !files.includes(path))).toEqual([])
    expect(packageJson().files).toContain('docs')
  })

  it('has a lock file that works on any machine', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as PackageLock
    const elsewhere = Object.values(packages)
      .map(({ resolved }) => resolved)
      .filter((url) => url !== undefined && !url.startsWith('https://registry.npmjs.org/'))
    expect(elsewhere).toEqual([])
    // npm 11 refuses a lock file without the optional packages of other systems.
    const optional = Object.values(packages).flatMap((one) =>
      Object.keys(one.optionalDependencies ?? {}),
    )
    expect(optional.length).toBeGreaterThan(10)
    expect(optional.filter((name) => !(`node_modules/${name}` in packages))).toEqual([])
  })

  it('has no file over 200 kB, and no archive of an earlier version over 800 kB', () => {
    const mostOf = (path: string) => (/^test\/upgrade\/.*\.br$/.test(path) ? 800_000 : 200_000)
    const large = files.filter(
      (path) => readFileSync(join(packageRoot, path)).length > mostOf(path),
    )
    expect(large).toEqual([])
  })

  it('names the Node version that it needs in its documents', () => {
    const { engines } = packageJson()
    const least = read('.nvmrc').trim()
    expect(engines.node).toBe(`>=${least}`)
    expect(read('README.md')).toContain(`Node ${least.split('.', 2).join('.')}`)
  })
})

describe('every command', () => {
  it('says in src/cli/documents.ts what --json prints', () => {
    const printing = Object.entries(COMMANDS).filter(([, { isScript }]) => isScript !== true)
    expect(Object.keys(DOCUMENTS)).toEqual(printing.map(([name]) => name))
  })
})

describe('nothing is left lying about', () => {
  const words = files.filter((path) =>
    /\.(?:[cm]?[jt]s|json|md|sql|ya?ml|csv)$|\.ci\/run$/.test(path),
  )
  const others = words.filter(
    (path) => path !== 'test/repo.test.ts' && path !== 'package-lock.json',
  )

  it('no TODO', () => {
    expect(mentioning(others, /\b(?:TODO|FIXME|XXX|HACK)\b/)).toEqual([])
  })

  it('no path of a developer’s machine', () => {
    expect(mentioning(others, /(?<![\w.$}/])\/(?:work|home|root|Users)\//)).toEqual([])
    const outside = others.filter((path) => !path.startsWith('test/'))
    expect(mentioning(outside, /\.\.\/shared\b/)).toEqual([])
  })

  it('no test is left out silently, or runs alone', () => {
    expect(matching(tests, /\b(?:it|test|describe|bench)\.(?:only|skip|todo)\b/)).toEqual([])
    expect(matching(tests, /\bskip\(\s*\)/)).toEqual([])
    const conditional = matching(
      tests.filter((path) => path.endsWith('.test.ts')),
      /\b(?:skipIf|runIf)\(/,
    )
    expect(conditional.filter((path) => !/\bskip(?:ped|s)\b/i.test(read(path)))).toEqual([])
  })
})

describe('the tiers', () => {
  it('of npm run test:soak contain every suite with counts for it', () => {
    const { scripts } = packageJson()
    const soak = scripts['test:soak'] ?? ''
    expect(soak).toContain('JOBTIDE_SOAK=1 vitest run')
    const run = [...soak.matchAll(/--project[= ](\w+)/g)].map(([, tier]) => tier)
    const counted = matching(tests, /\brounds\('|\bIS_SOAK\b/).filter((path) =>
      path.endsWith('.test.ts'),
    )
    expect(counted.length).toBeGreaterThan(10)
    const tierOf = (path: string) =>
      path.endsWith('.soak.test.ts')
        ? 'soak'
        : /\.(?:db|cli)\.test\.ts$/.test(path)
          ? 'slow'
          : 'fast'
    expect(counted.filter((path) => run.length > 0 && !run.includes(tierOf(path)))).toEqual([])
  })
})

interface PackageJson {
  readonly files: readonly string[]
  readonly scripts: Readonly<Record<string, string>>
  readonly engines: { readonly node: string }
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

interface PackageLock {
  readonly packages: Readonly<
    Record<string, { resolved?: string; optionalDependencies?: Record<string, string> }>
  >
}

function packageJson(): PackageJson {
  return JSON.parse(read('package.json')) as PackageJson
}

function read(path: string): string {
  return readFileSync(join(packageRoot, path), 'utf8')
}

/** Paths below `folder`, relative to the repository, without the folders that are not ours. */
function filesBelow(folder: string): string[] {
  return readdirSync(join(packageRoot, folder), { withFileTypes: true })
    .filter(({ name }) => folder !== '.' || !NOT_OURS.has(name))
    .flatMap((entry) => {
      const path = folder === '.' ? entry.name : `${folder}/${entry.name}`
      return entry.isDirectory() ? filesBelow(path) : [path]
    })
    .toSorted()
}

function layerOf(path: string): string {
  return path.split('/')[1]?.replace(/\.ts$/, '') ?? path
}

/** The code of a file, without comments. */
function codeOf(path: string): string {
  const text = read(path)
  if (!path.endsWith('.ts')) return text
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1')
}

function statementsOf(path: string): string[] {
  return codeOf(path)
    .split(/\n(?=\S)/)
    .map((text) => text.trim())
}

/** What a file imports or re-exports, as written. */
function importsOf(path: string): string[] {
  const pattern =
    /^(?:import|export)\b[^'"`;]*?\bfrom\s*'([^']+)'|^import\s+'([^']+)'|\b(?:import|require)\(\s*'([^']+)'\s*\)/gm
  return [...codeOf(path).matchAll(pattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? '')
}

/** What a file loads: packages, and our files by their paths. */
function staticImports(path: string): string[] {
  if (!path.endsWith('.ts')) return []
  const pattern = /^(?:import|export) (?!type )[^'"`;]*?\bfrom '([^']+)'/gm
  return [...codeOf(path).matchAll(pattern)].map(([, target = '']) =>
    target.startsWith('.') ? join(dirname(path), target) : target,
  )
}

function localImports(path: string): string[] {
  return importsOf(path)
    .filter((target) => target.startsWith('.'))
    .map((target) => relative(packageRoot, resolve(packageRoot, dirname(path), target)))
}

function matching(paths: readonly string[], pattern: RegExp): string[] {
  return paths.filter((path) => pattern.test(codeOf(path)))
}

/** Like `matching`, but with comments. */
function mentioning(paths: readonly string[], pattern: RegExp): string[] {
  return paths.filter((path) => pattern.test(read(path)))
}

describe('the build', () => {
  it('leaves an executable command, so that npx runs it after a rebuild', () => {
    const { mode } = statSync(join(packageRoot, 'dist', 'cli.js'))
    // Windows has no such bit; npm creates a command file there.
    expect(process.platform === 'win32' ? 0o111 : mode & 0o111).toBe(0o111)
  })
})
