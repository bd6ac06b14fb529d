/** Text files as people save them, words of others, and CSV as programs write it. */

/** The text of a file: UTF-8, or UTF-16 with a byte order mark. */
export function decodeText(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  return new TextDecoder('utf-8').decode(bytes)
}

/**
 * Words of others as one line without anything that a terminal obeys: white space and control characters become one blank, what
 * turns the direction of writing goes.
 */
export function onOneLine(text: string): string {
  return text
    .replaceAll(/\p{Bidi_Control}/gu, '')
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
}

/** The slug in a company URL, in lower case: what follows `/company/`, else the last part of the path. */
export function companySlug(urlOrSlug: string): string {
  const [path = ''] = urlOrSlug.trim().split(/[?#]/, 1)
  const parts = path.split('/').filter((part) => part !== '')
  const slug = parts[parts.indexOf('company') + 1 || parts.length - 1] ?? parts.at(-1) ?? ''
  try {
    return decodeURIComponent(slug).toLowerCase()
  } catch {
    return slug.toLowerCase()
  }
}

/** One line of CSV (RFC 4180 but for its line end, which is a newline); null is an empty cell. */
export function csvLine(cells: readonly (string | number | boolean | null)[]): string {
  return `${cells.map((cell) => quoted(cell === null ? '' : String(cell))).join(',')}\n`
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
