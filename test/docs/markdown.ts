/** Reads Markdown: fenced blocks, tables, links, prose. */

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../src/support/assets.ts'

/** The first line of a block of commands that test/docs/executed.ts runs. */
const RUN = '```sh run\n'

/** A fenced block. */
export interface Block {
  /** What follows the opening fence, such as `sh run`. */
  readonly info: string
  readonly text: string
  readonly indent: string
}

/** A table: its heading and its rows, cell by cell. */
export interface MarkdownTable {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

const FIRST = [
  'README.md',
  ...['pipelines', 'cost', 'operations', 'analysts', 'careers', 'snapshots'].map(
    (name) => `docs/${name}.md`,
  ),
]

/** Every page for readers, in reading order; all commands in docs/ are run. */
export const pages: readonly string[] = [
  ...FIRST,
  ...markdownIn('docs').filter((page) => !FIRST.includes(page) && read(page).includes(RUN)),
]

/** Every Markdown file that is held to the rules of form. */
export const documents: readonly string[] = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  ...markdownIn('docs'),
  ...markdownIn('docs/decisions'),
]

/** The text of a file of the project. */
export function read(path: string): string {
  return readFileSync(join(packageRoot, path), 'utf8')
}

/** The fenced blocks, in order. */
export function readBlocks(markdown: string): Block[] {
  return [...markdown.matchAll(/^([ ]*)```([^\n]*)\n([\s\S]*?)^\1```$/gm)].map(
    ([, indent = '', info = '', text = '']) => ({
      info,
      indent,
      text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  )
}

/** The text without its fenced blocks. @param kind those of this kind alone, such as `sh run` */
export function withoutBlocks(markdown: string, kind?: string): string {
  return markdown.replaceAll(/^([ ]*)```([^\n]*)\n[\s\S]*?^\1```$/gm, (block, _, info: string) =>
    kind === undefined || info === kind ? '' : block,
  )
}

/** The tables, in order. */
export function readTables(markdown: string): MarkdownTable[] {
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

/** The cells below `heading`, of the first table of all pages that has it (and `also`). */
export function columnOf(heading: string, also = heading): string[] {
  const table = pages
    .flatMap((page) => readTables(read(page)))
    .find(({ head }) => head.includes(heading) && head.includes(also))
  const index = table?.head.indexOf(heading) ?? -1
  return table?.rows.map((row) => row[index] ?? '') ?? []
}

function markdownIn(folder: string): string[] {
  return readdirSync(join(packageRoot, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)
}
