/**
 * Everything that the documents name exists, and everything that exists is documented. `UPDATE=1` writes docs/tables.md
 * and the list of recipes.
 */

import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { pipelineSchema } from '../../src/plan/pipeline.ts'
import { packageRoot } from '../../src/support/assets.ts'
import { EXIT } from '../../src/support/errors.ts'
import { sum } from '../../src/support/numbers.ts'
import { callCli } from '../helpers/run-cli.ts'
import { columnOf, documents, pages, read, withoutBlocks } from './markdown.ts'
import { recipesList } from './recipes-page.ts'
import { tablesPage } from './tables-page.ts'

const KIB = 1024
const WIDTH = 120

describe('form', () => {
  it.each(['README.md', 'ARCHITECTURE.md'])('%s has at most 10 KB', (name) => {
    expect(statSync(join(packageRoot, name)).size).toBeLessThanOrEqual(10 * KIB)
  })

  it('CHANGELOG.md has at most 12 KB, and the pages of docs/ without tables.md 110 KB', () => {
    const pages = documents.filter(
      (name) => /^docs\/[^/]+\.md$/.test(name) && name !== 'docs/tables.md',
    )
    const size = (name: string) => statSync(join(packageRoot, name)).size
    expect(pages.length).toBeGreaterThan(15)
    expect(sum(pages.map(size))).toBeLessThanOrEqual(110 * KIB)
    expect(size('CHANGELOG.md')).toBeLessThanOrEqual(12 * KIB)
  })

  it.each(documents)(
    '%s has lines of at most 120 characters and tables without padding',
    (name) => {
      const lines = withoutBlocks(read(name)).split('\n')
      expect(lines.filter((line) => line.length > WIDTH)).toEqual([])
      expect(lines.filter((line) => line.startsWith('|') && /[^ ]  +/.test(line))).toEqual([])
    },
  )

  it.each(documents)('%s links only to files that exist', (name) => {
    const links = [...read(name).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, to]) => to ?? '')
    const from = join(packageRoot, dirname(name))
    expect(links.filter((target) => !existsSync(join(from, target)))).toEqual([])
  })

  it.each(documents)('%s links only to headings that exist', (name) => {
    const links = [...read(name).matchAll(/\]\(([^)#:]*)#([^)]+)\)/g)]
    const missing = links.filter(([, page = '', heading = '']) => {
      const target = page === '' ? name : join(dirname(name), page)
      return !anchorsOf(read(target)).includes(heading)
    })
    expect(missing.map(([link]) => link)).toEqual([])
  })

  it('every path between backquotes exists', () => {
    const text = documents.map(read).join('\n')
    const paths = [...text.matchAll(/`((?:src|sql|test|config|\.ci)\/[\w./-]*)`/g)]
    expect(paths.length).toBeGreaterThan(30)
    const missing = paths.map(([, path]) => path ?? '')
    expect(missing.filter((path) => !existsSync(join(packageRoot, path)))).toEqual([])
  })

  it('the list of decisions has every decision', () => {
    const pages = readdirSync(join(packageRoot, 'docs/decisions')).filter((name) =>
      /^\d/.test(name),
    )
    const index = read('docs/decisions/README.md')
    expect(pages.filter((page) => !index.includes(`(${page})`))).toEqual([])
  })

  it('CHANGELOG.md begins with the version of package.json, or with unreleased changes', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string }
    expect(/^## (\d\S+)/m.exec(read('CHANGELOG.md'))?.[1]).toBe(version)
  })

  it('every script that a document names exists', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const named = [
      ...documents
        .map(read)
        .join('')
        .matchAll(/`npm run ([a-z:]+)/g),
    ]
    expect(named.length).toBeGreaterThan(1)
    expect(named.map(([, name]) => name ?? '').filter((name) => !(name in scripts))).toEqual([])
  })
})

describe('examples', () => {
  const EXAMPLE =
    /\bjobtide (?:-.*)?(?:find|suggest) [^\s`<].*|\bfind (?:companies|people|posts) \S*=.*/g
  const FOLDERS = ['config', 'deploy', 'docs', 'pipelines', 'spark', 'sql', 'src']
  const everywhere = FOLDERS.flatMap((folder) =>
    readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' }).map(
      (name) => `${folder}/${name}`,
    ),
  )
  const markdown = [...readdirSync(packageRoot), ...everywhere].filter((name) =>
    name.endsWith('.md'),
  )

  it('of find and suggest are in blocks that are run', () => {
    const left = markdown.flatMap((page) => {
      const text = pages.includes(page) ? withoutBlocks(read(page), 'sh run') : read(page)
      return (text.match(EXAMPLE) ?? []).map((example) => `${page}: ${example}`)
    })
    expect(left).toEqual([])
  })
})

describe('ARCHITECTURE.md', () => {
  it('has every folder of src on its map', () => {
    const folders = readdirSync(join(packageRoot, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
    const text = read('ARCHITECTURE.md')
    expect(folders.filter((name) => !text.includes(`\`src/${name}/\``))).toEqual([])
  })

  it('says why each dependency is there', () => {
    const { dependencies, devDependencies } = JSON.parse(read('package.json')) as {
      dependencies: Record<string, string>
      devDependencies: Record<string, string>
    }
    const pages = read('ARCHITECTURE.md') + read('CONTRIBUTING.md')
    const names = Object.keys({ ...dependencies, ...devDependencies })
    expect(names.filter((name) => !pages.includes(`\`${name}\``))).toEqual([])
  })
})

describe('the pages name', () => {
  it('every command and no other, and every option of run', async () => {
    const help = async (...args: string[]) => (await callCli([...args, '--help'])).stdout
    const commands = [...(await help()).matchAll(/^ {2}([a-z-]+)(?: \[| <|\s{2})/gm)]
    const names = commands.map(([, name]) => name).filter((name) => name !== 'help')
    const documented = columnOf('command', 'does').flatMap((cell) => unquoted(cell).split(', '))
    expect(new Set(documented)).toEqual(new Set(names))
    const options = [...(await help('run')).matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, one]) => one)
    expect(options.length).toBeGreaterThan(8)
    const text = read('docs/pipelines.md')
    expect(options.filter((option) => !text.includes(`\`${option}`))).toEqual([])
  })

  it('every exit code', () => {
    expect(columnOf('exit')).toEqual(Object.values(EXIT).map(String))
  })

  it('every key of a pipeline file with its default', () => {
    const { limits, snapshot, journal } = pipelineSchema.shape
    const groups = {
      limits: limits.unwrap().shape,
      snapshot: snapshot.unwrap().shape,
      journal: journal.unwrap().shape,
    }
    const keys = Object.keys(pipelineSchema.shape).flatMap((key) =>
      key in groups
        ? Object.keys(groups[key as keyof typeof groups]).map((nested) => `${key}.${nested}`)
        : [key],
    )
    const named = columnOf('key', 'default').map(unquoted)
    expect(named).toEqual(keys)
    const {
      initial_window,
      overlap_hours,
      limits: limited,
      snapshot: published,
    } = pipelineSchema.parse({
      name: 'x',
      organizations: 'x',
      window: 'all',
      snapshot: { to: 'x' },
    })
    const documented = new Map(columnOf('default').map((value, index) => [named[index], value]))
    expect(documented.get('initial_window')).toBe(String(initial_window))
    expect(documented.get('overlap_hours')).toBe(String(overlap_hours))
    expect(documented.get('limits.concurrency')).toBe(String(limited.concurrency))
    expect(documented.get('limits.max_wait')).toBe(limited.max_wait)
    expect(documented.get('snapshot.keep')).toBe(JSON.stringify(published?.keep))
  })

  it('every variable that the program reads', () => {
    const code = read('src/config.ts')
    const variables = new Set(
      [...code.matchAll(/\b(JOBTIDE_[A-Z0-9_]+|[A-Z]+_PROXY)\b/g)].map(([, name]) => name),
    )
    // Read by Node itself, and named where a certificate is not trusted.
    variables.add('NODE_EXTRA_CA_CERTS')
    expect(new Set(columnOf('variable').map(unquoted))).toEqual(variables)
  })

  it('every table with grain, key and columns', async () => {
    const expected = await tablesPage()
    if (process.env['UPDATE'] === '1') {
      writeFileSync(join(packageRoot, 'docs/tables.md'), expected)
    }
    expect(read('docs/tables.md')).toBe(expected)
  })
})

describe('docs/recipes.md says', () => {
  it('every recipe with its question and parameters', () => {
    const path = join(packageRoot, 'docs/recipes.md')
    const list = /(?<=<!-- recipes -->\n)[^]*(?=<!-- end of recipes -->)/
    if (process.env['UPDATE'] === '1') {
      writeFileSync(path, read('docs/recipes.md').replace(list, `\n${recipesList()}\n`))
    }
    expect(list.exec(read('docs/recipes.md'))?.[0].trim()).toBe(recipesList().trim())
  })
})

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(markdown: string): string[] {
  return [...withoutBlocks(markdown).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function unquoted(cell: string): string {
  return cell.replaceAll('`', '')
}
