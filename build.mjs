/**
 * `npm run build`: what ships and what tests import, both in dist/. What ships is `cli.js`, which runs `bundle/jobtide.cjs`, and what
 * is computed once for all. Beside them stands every module of src on its own, which tests import; `node dist/cli/process.js`
 * runs those.
 */

import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

// Native code cannot be bundled.
const OUTSIDE = ['@duckdb/node-bindings']

// A map without lines: stack traces name lines of ours, and maps of packages would be larger than the package.
const NO_MAP = '{"version":3,"sources":["-"],"mappings":"AAAA"}'
const NO_MAP_COMMENT = `//# sourceMappingURL=data:application/json;base64,${btoa(NO_MAP)}`

const BUILT = join('dist', 'built.sha256')
const sources = sourcesHash()
if (existsSync(BUILT) && readFileSync(BUILT, 'utf8') === sources) process.exit()

rmSync('dist', { recursive: true, force: true })
const tsc = join('node_modules', 'typescript', 'bin', 'tsc')
execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { stdio: 'inherit' })

const { metafile } = await build({
  entryPoints: ['src/cli/process.ts'],
  outfile: 'dist/bundle/jobtide.cjs',
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node20.19',
  sourcemap: true,
  sourcesContent: false,
  legalComments: 'none',
  minifyWhitespace: true,
  external: OUTSIDE,
  define: { 'import.meta.dirname': '__dirname' },
  // As a function: src/cli/bundle.ts calls it.
  banner: { js: '(function (require, __filename, __dirname) {' },
  footer: { js: '})' },
  metafile: true,
  logLevel: 'warning',
  plugins: [{ name: 'smaller', setup: makeSmaller }],
})
refuseOtherThanAscii('dist/bundle/jobtide.cjs')
chmodSync('dist/cli.js', 0o755)
writeFileSync('dist/help.txt', execFileSync(process.execPath, ['dist/cli/process.js', '--help']))
writeFileSync('dist/THIRD-PARTY-LICENSES.txt', licenses(Object.keys(metafile.inputs)))
await import('./dist/titles/compare.js')
const { keepAll } = await import('./dist/titles/kept.js')
keepAll()
const { keepReads } = await import('./dist/model/project.js')
await keepReads()
// Without it each command compiles what it runs.
await keepCode().catch((error) => process.stderr.write(`no code is kept: ${error.message}\n`))

writeFileSync(BUILT, sources)

/** A hash of all that dist/ is made from: a build of the same is not made again. */
function sourcesHash() {
  const hash = createHash('sha256').update(process.version)
  const folders = ['src', 'sql', 'config'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  )
  const files = [
    'build.mjs',
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'tsconfig.build.json',
  ]
  const paths = [...folders, ...files].toSorted((a, b) => (a < b ? -1 : 1))
  for (const path of paths) hash.update(path).update(readFileSync(path))
  return hash.digest('hex')
}

function makeSmaller({ onLoad }) {
  onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => ({
    loader: 'ts',
    contents: ascii(readFileSync(path, 'utf8'))
      // A namespace is bundled as far as it is used: of zod a quarter.
      .replace("import { z } from 'zod'", "import * as z from 'zod'")
      // The client of the engine goes into the bundle; src loads it without a bundler.
      .replace('const require = createRequire(import.meta.url)\n', '\n'),
  }))
  // Its index loads fetch, caches and HTTP/2 of Node as well, which takes longer than all of ours. Jobtide's requests go through an
  // agent, which has `request`.
  onLoad({ filter: /[\\/]undici[\\/]index\.js$/ }, () => ({
    contents: `Object.assign(require('./lib/dispatcher/dispatcher').prototype, require('./lib/api'))
exports.Agent = require('./lib/dispatcher/agent')
exports.EnvHttpProxyAgent = require('./lib/dispatcher/env-http-proxy-agent')
exports.Pool = require('./lib/dispatcher/pool')
exports.errors = require('./lib/core/errors')`,
  }))
  onLoad({ filter: /[\\/]node_modules[\\/].*\.[cm]?js$/ }, ({ path }) => ({
    contents: `${ascii(readFileSync(path, 'utf8')).replaceAll(/^\/\/# sourceMappingURL=.*$/gm, '')}\n${NO_MAP_COMMENT}`,
  }))
}

/** A file of ASCII is read in a tenth of the time: Node keeps it as it is. The bundler itself leaves regular expressions alone. */
function ascii(source) {
  return source.replaceAll(/[^\0-\x7f]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/** Refuses a bundle that {@link ascii} has missed a place of: it is read as Latin-1. */
function refuseOtherThanAscii(path) {
  const [place] = /.{0,40}[^\0-\x7f]/.exec(readFileSync(path, 'utf8')) ?? []
  if (place !== undefined) throw new Error(`${path} is not ASCII: ${place}`)
}

/** Keeps the machine's code of all that a first run of 3 organisations calls; see src/cli/bundle.ts. */
async function keepCode() {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-build-'))
  const cli = resolve('dist', 'cli', 'process.js')
  const keeping = `import { writeFileSync } from 'node:fs'
    import { CODE, program } from ${JSON.stringify(pathToFileURL(resolve('dist', 'cli', 'bundle.js')))}
    process.on('exit', () => writeFileSync(CODE, program.createCachedData()))`
  const simulate = [
    'simulate',
    '--port',
    '0',
    '--companies',
    '3',
    '--organizations-out',
    'organizations.csv',
  ]
  const simulator = spawn(process.execPath, [cli, ...simulate], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  try {
    const url = await new Promise((found, failed) => {
      simulator.once('exit', () => failed(new Error('the simulator ended')))
      let said = ''
      simulator.stdout.on('data', (text) => {
        said += text
        const [url] = /http:\/\/[\d.:]+/.exec(said) ?? []
        if (url !== undefined) found(url)
      })
    })
    const how = {
      cwd: folder,
      env: { JOBTIDE_BASE_URL: url, JOBTIDE_API_KEY: 'simulator-key' },
      stdio: 'pipe',
    }
    execFileSync(process.execPath, [cli, 'init'], how)
    const run = ['--input-type=module', '--eval', keeping, 'jobtide', 'run', 'nightly']
    execFileSync(process.execPath, run, how)
    // Commands write files for their own account only; any account may run the package.
    chmodSync(`dist/bundle/jobtide.cjs.${process.version}-${process.arch}.code`, 0o644)
  } finally {
    simulator.removeAllListeners('exit').kill()
    rmSync(folder, { recursive: true })
  }
}

/** The licence of every package that has code in the bundle. */
function licenses(inputs) {
  const folders = inputs.flatMap((path) => {
    const [, folder] = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path) ?? []
    return folder === undefined ? [] : [folder]
  })
  const texts = [...new Set(folders)].map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    )
    const files = readdirSync(folder).filter((one) => /^(?:licen[cs]e|copying|notice)/i.test(one))
    const said = files.map((one) => readFileSync(join(folder, one), 'utf8').trim())
    return [`${name} ${version} (${license})`, ...said].join('\n\n')
  })
  return `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}
