/** Builds pages of HTML that escape all text from outside, and formats what they show. */

import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../support/assets.ts'
import { refuseForeignFile } from '../support/atomic-file.ts'
import { numberText } from '../support/numbers.ts'
import { onOneLine } from '../support/text.ts'
import type { ChangeKind } from './rows.ts'
import { momentText } from './window.ts'

/** A piece of a page that is HTML already. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** The content of a page: HTML unchanged, other values as text; null and false are omitted, lists are joined. */
export type Content = Html | string | number | null | false | readonly Content[]

const LONGEST_TEXT = 100
const LONGEST_ADDRESS = 300

/** A piece of a page, with `contents` escaped at their places, also within attributes in double quotes. */
export function html(parts: TemplateStringsArray, ...contents: readonly Content[]): Html {
  return new Html(
    parts.map((part, at) => part.replaceAll(/\n\s*/g, '\n') + written(contents[at])).join(''),
  )
}

function written(content: Content | undefined): string {
  if (content === null || content === undefined || content === false) return ''
  if (content instanceof Html) return content.text
  if (typeof content === 'object') return content.map(written).join('')
  return escaped(String(content))
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

/** A text from outside for display: one line, nothing invisible, at most 100 characters; null if nothing is left. */
export function shown(text: string | null): string | null {
  const line = Array.from(onOneLine(text ?? ''))
  if (line.length === 0) return null
  return line.length <= LONGEST_TEXT ? line.join('') : `${line.slice(0, LONGEST_TEXT).join('')}…`
}

/** A name from outside; its writing direction affects nothing around it. */
export function name(text: string | null, otherwise: string): Html {
  const line = shown(text)
  return line === null ? html`<span class="unknown">${otherwise}</span>` : html`<bdi>${line}</bdi>`
}

/** The address of a page if a link may lead there: https, without a user; else null. */
export function linkTarget(address: string | null): string | null {
  if (address === null || address.length > LONGEST_ADDRESS || !URL.canParse(address)) return null
  const { protocol, username, password, href } = new URL(address)
  return protocol === 'https:' && username === '' && password === '' ? href : null
}

export function instant(at: string | null | undefined): string {
  return at === null || at === undefined ? 'never' : momentText(Date.parse(at))
}

export function signed(value: number): string {
  return value > 0 ? `+${numberText(value)}` : value < 0 ? `−${numberText(-value)}` : '0'
}

/** `0.213` → `21 %`; below 10 % with one more digit. */
export function percentText(rate: number): string {
  return `${percentOf(rate)} %`
}

/** `18–26 %`; `from 18 %` where the upper end is not known. */
export function rangeText(low: number, high: number | null): string {
  if (high === null) return `from ${percentText(low)}`
  const [from, to] = [percentOf(low), percentOf(high)]
  return from === to ? `${from} %` : `${from}–${to} %`
}

function percentOf(rate: number): string {
  return (rate * 100).toLocaleString('en', { maximumFractionDigits: rate < 0.0995 ? 1 : 0 })
}

export function credits(value: number): string {
  return `${value.toLocaleString('en', { maximumFractionDigits: 0 })} credits`
}

/** Each kind of change in a sentence: `3 promoted`. */
export const WORDS: Readonly<Record<ChangeKind, string>> = {
  joined: 'joined',
  left: 'left',
  rose: 'promoted',
}

/** The transfers that figures leave out, in one sentence; null where there is none. */
export function transfersText(
  counts: readonly { readonly change: ChangeKind; readonly transfers: number }[],
): string | null {
  const of = (kind: ChangeKind) => counts.find(({ change }) => change === kind)?.transfers ?? 0
  const [came, went] = [of('joined'), of('left')]
  return came + went === 0
    ? null
    : `${numberText(came)} joined and ${numberText(went)} left by a transfer, such as an acquisition: not counted`
}

interface Page {
  /** A page is replaced only by one whose title has the same beginning. */
  readonly title: string
  /** Names of files in config/report. */
  readonly styles: readonly string[]
  readonly script: string | null
  readonly body: Html
}

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
