/** Finds the prose in source text: comments and the string literals a person may read. */

export type Prose = { readonly line: number; readonly text: string }

// The order matters: a comment mark inside a string opens no comment, and a quote inside a comment opens no string. A
// regular expression follows an operator or an opening bracket; a division follows a value.
const TYPESCRIPT =
  /\/\*[\s\S]*?\*\/|(?:(?<=^|\n)[ \t]*\/\/[^\n]*\n)+|\/\/[^\n]*|(?<=[(,=:[!&|?{};\n>]\s*|return )\/(?![*/])(?:\[(?:\\.|[^\]\\\n])*\]|\\.|[^/\\\n[])+\/[a-z]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`/g
const PYTHON =
  /"""[\s\S]*?"""|(?:(?<=^|\n)[ \t]*#[^\n]*\n)+|#[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g

/** The comments and strings of a TypeScript or Python source, each as one line without its code. */
export function proseOf(path: string, source: string): Prose[] {
  const literals = source.matchAll(path.endsWith('.py') ? PYTHON : TYPESCRIPT)
  return [...literals].flatMap((match) => {
    const text = plain(match[0])
    if (text === '') return []
    return [{ line: source.slice(0, match.index).split('\n').length, text }]
  })
}

function plain(literal: string): string {
  const trimmed = literal.trim()
  if (/^\/(?![*/])/.test(trimmed)) return ''
  const body = /^(?:\/\*|\/\/|#|""")/.test(trimmed)
    ? trimmed
        .replaceAll(/^\s*(?:\/\*\*?|\*\/|\*|\/\/|#|""")|\*\/$|"""$/gm, '')
        .replaceAll(/`[^`]*`/g, '``')
    : trimmed.slice(1, -1).replaceAll(/\$\{[^{}]*\}/g, '…')
  return body.replaceAll(/\s+/g, ' ').trim()
}
