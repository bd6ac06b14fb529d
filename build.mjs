/**
 * `npm run build`: what ships and what tests import, both in dist/. What ships is bundled, so that a command reads a few files in
 * place of hundreds: `cli.js`, `chunks/` (what commands share, and each command's own), and what is computed once for all.
 * Beside them stands every module of src on its own, which tests import; `node dist/cli/process.js` runs those.
 */

import { execFileSync } from 'node:child_process'
import { chmodSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { build } from 'esbuild'

// Native code cannot be bundled; the other two are the user's to install.
const OUTSIDE = ['@duckdb/node-bindings', '@opentelemetry/api', '@opentelemetry/sdk-node']

// A map without lines: stack traces name lines of ours, and maps of packages would be larger than the package.
const NO_MAP = '{"version":3,"sources":["-"],"mappings":"AAAA"}'
const NO_MAP_COMMENT = `//# sourceMappingURL=data:application/json;base64,${btoa(NO_MAP)}`

rmSync('dist', { recursive: true, force: true })
const tsc = join('node_modules', 'typescript', 'bin', 'tsc')
execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { stdio: 'inherit' })

const { metafile } = await build({
  entryPoints: ['src/cli.ts'],
  outdir: 'dist',
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  sourcemap: true,
  sourcesContent: false,
  external: OUTSIDE,
  // Packages in CommonJS ask for modules of Node.
  banner: {
    js: "import{createRequire as $createRequire}from'node:module';const require=$createRequire(import.meta.url);",
  },
  metafile: true,
  logLevel: 'warning',
  plugins: [{ name: 'smaller', setup: makeSmaller }],
})
chmodSync('dist/cli.js', 0o755)
writeFileSync('dist/help.txt', execFileSync(process.execPath, ['dist/cli/process.js', '--help']))
writeFileSync('dist/THIRD-PARTY-LICENSES.txt', licenses(Object.keys(metafile.inputs)))
const { keepParsedLists } = await import('./dist/titles/parsed-lists.js')
keepParsedLists()
await import('./dist/titles/compare.js')
const { keepAll } = await import('./dist/titles/kept.js')
keepAll()
const { keepReads } = await import('./dist/model/project.js')
await keepReads()

function makeSmaller({ onLoad }) {
  const main = resolve('src/cli/main.ts')
  const sources = readdirSync('src', { recursive: true, withFileTypes: true })
    .filter((entry) => entry.name.endsWith('.ts'))
    .map((entry) => resolve(entry.parentPath, entry.name))
  const imported = sources.flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/\bimport\('(\.[^']+)'\)/g)].map(([, target]) =>
      resolve(dirname(path), target),
    ),
  )
  onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => ({
    loader: 'ts',
    contents: readFileSync(path, 'utf8')
      // What every command has loaded before becomes one chunk only where the bundler knows that.
      .replace(
        /$/,
        imported.includes(path) && !path.endsWith('help.ts')
          ? `\nimport ${JSON.stringify(main)}`
          : '',
      )
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
    contents: `${readFileSync(path, 'utf8').replaceAll(/^\/\/# sourceMappingURL=.*$/gm, '')}\n${NO_MAP_COMMENT}`,
  }))
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
