/** Builds HTML that escapes all text from outside. */

import { onOneLine } from '../support/text.ts'

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
