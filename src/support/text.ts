/** Text files as people save them, text from outside, and CSV as programs write it. */

/** A line with the page that it is about; null for none. */
export interface Line {
  readonly text: string
  readonly link: string | null
}

export function lineText({ text, link }: Line): string {
  return link === null ? text : `${text} ${link}`
}

/** The text of a file: UTF-8, or UTF-16 with a byte order mark. */
export function decodeText(bytes: Uint8Array, isStrict = false): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  return new TextDecoder('utf-8', { fatal: isStrict }).decode(bytes)
}

/** As {@link decodeText}; what is neither is read as Windows-1252, in which Excel saves a CSV file in Western Europe. */
export function decodeTable(bytes: Uint8Array): string {
  try {
    return decodeText(bytes, true)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

// Invisible characters: zero-width, writing direction, variation selectors, tags. Without the
// joiners among them Persian, Hindi and emoji read on, in plainer shapes.
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu

/** White space and control characters become one blank, invisible characters are removed. */
export function onOneLine(text: string): string {
  return text
    .replaceAll(INVISIBLE, '')
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
}

/**
 * For one line of a terminal: characters that move the cursor, change colours, end a line or reverse the direction
 * become a dot; invisible ones are removed.
 */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028-\u202E\u2066-\u2069]/gu, '·').replaceAll(INVISIBLE, '')
}

/** A text in at most `most` characters, with an ellipsis where it was longer; never with half of one at its end. */
export function cut(text: string, most = Number.POSITIVE_INFINITY): string {
  if (text.length <= most) return text
  return `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** As {@link printable}, of a text that may have lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

/** Escapes what {@link printable} does not show: the value stays, and a terminal has nothing to obey. */
export function escapedJson(json: string): string {
  return json.replaceAll(
    /[^\P{Cc}\n]|[\u2028\u2029\p{Default_Ignorable_Code_Point}]/gu,
    (character) =>
      Array.from({ length: character.length }, (_, at) => {
        return `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`
      }).join(''),
  )
}

/** The slug in a company URL, in lower case: what follows `/company/`, else the last part of the path. */
export function companySlug(urlOrSlug: string): string {
  const [path = ''] = urlOrSlug.trim().split(/[?#]/, 1)
  const parts = path.split('/').filter((part) => part !== '')
  const slug = parts[parts.indexOf('company') + 1 || parts.length - 1] ?? parts.at(-1) ?? ''
  return decodedUri(slug).normalize('NFC').toLowerCase()
}

/**
 * A short name of a company for narrow columns; of an address only the last part,
 * `https://network.example/company/acme/` → `…/acme`.
 */
export function companyText(askedAs: string): string {
  const last = /^https?:\/\/[^/]+\/(?:[^?#]*\/)?([^/?#]+)\/?(?:[?#].*)?$/.exec(askedAs)?.[1]
  return last === undefined ? askedAs : `…/${last}`
}

/**
 * RFC 4180, but lines end with a newline; null is an empty cell.
 * @param isForSpreadsheet puts a ' before whatever a spreadsheet would take for a formula; numbers stay as they are
 */
export function csvLine(
  cells: readonly (string | number | boolean | null)[],
  isForSpreadsheet = false,
): string {
  const texts = cells.map((cell) => (cell === null ? '' : String(cell)))
  return `${texts.map((text) => quoted(isForSpreadsheet ? defused(text) : text)).join(',')}\n`
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i
// After a semicolon, a tab or a line end too: in many countries a spreadsheet begins a new cell or row there.
const FORMULA = /^(?=[\t\r\n])|(?<=^|[;\t\r\n])(?=[\s"]*[=+\-@\uFF0B\uFF0D\uFF1D\uFF20])/g

function defused(text: string): string {
  return NUMBER.test(text) ? text : text.replaceAll(FORMULA, "'")
}

// Lists are read with any of three delimiters, `#` for a comment, and blanks around a cell left out: between quotes all of that
// is text.
const NEEDS_QUOTES = /[",;\t\r\n]|^[#\s]|\s$/

function quoted(text: string): string {
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** An address as shown: without the part before an `@`, such as a name and a password. */
export function withoutCredentials(address: string): string {
  const start = address.indexOf('://')
  const end = address.lastIndexOf('@')
  return start < 0 || end < start ? address : `${address.slice(0, start + 3)}…${address.slice(end)}`
}

/** A part of an address without its escapes; one with a wrong escape as it is. */
export function decodedUri(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The text without slashes at its end. A regular expression would take quadratic time on a long run of slashes. */
export function withoutTrailingSlashes(text: string): string {
  let end = text.length
  while (text[end - 1] === '/') end -= 1
  return text.slice(0, end)
}

/** A text as one word of a command line that people copy. */
export function shellWord(text: string): string {
  return /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** Whether a path has what only a shell replaces: a `~` at its start, or a variable. */
export function isUnexpanded(path: string): boolean {
  return /^~(?=\/|$)|\$\{|^\$\w/.test(path)
}

export const WHOLE_PATH = 'write the whole path, because only a shell replaces ~ and variables.'
