/** Wraps the content of every page: one file that requests nothing and runs only its own script. */

import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../support/assets.ts'
import { refuseForeignFile } from '../support/atomic-file.ts'
import { Html, html } from './html.ts'

interface Page {
  /** A page is replaced only by one whose title has the same beginning. */
  readonly title: string
  /** Names of files in config/report. */
  readonly styles: readonly string[]
  readonly script: string | null
  readonly body: Html
}

/** The page as HTML. */
export function htmlDocument({ title, styles, script: file, body }: Page): string {
  const style = styles.map(asset).join('')
  const script = file === null ? null : asset(file)
  const sum = hash('sha256', script ?? '', 'base64')
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta
          http-equiv="Content-Security-Policy"
          content="default-src 'none'; style-src 'unsafe-inline'; script-src ${script === null ? "'none'" : `'sha256-${sum}'`}; base-uri 'none'; form-action 'none'"
        />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        <meta name="robots" content="noindex" />
        <title>${title}</title>
        ${new Html(`<style>${style}</style>`)}
      </head>
      <body>
        ${body} ${script !== null && new Html(`<script>${script}</script>`)}
      </body>
    </html> `.text
}

/** Refuses to overwrite a file that is not a page of ours. @param title how its title begins @throws ConfigError */
export function refuseForeignPage(path: string, what: string, title: string): void {
  refuseForeignFile(path, what, (text) => isPage(text, title))
}

/** Whether a file is a page of ours whose title begins with `title`. */
export function isPage(text: string, title: string): boolean {
  const head = text.slice(0, HEAD_LENGTH)
  return /^<!doctype html>\s*<html lang="en">/.test(head) && head.includes(`<title>${title}`)
}

const HEAD_LENGTH = 2_000

function asset(file: string): string {
  // Drops indents, a seventh of the size: a folder has thousands of pages.
  return readFileSync(join(packageRoot, 'config', 'report', file), 'utf8').replaceAll(/^ +/gm, '')
}
