/** Finds the prose in source text: comments and the string literals a person may read. */

export type Prose = { readonly line: number; readonly text: string }

// The order matters: a comment mark inside a string opens no comment, and a quote inside a comment opens no string. A
// regular expression follows an operator or an opening bracket; a division follows a value.
const TYPESCRIPT =
  /\/\*[\s\S]*?\*\/|(?:(?<=^|\n)[ \t]*\/\/[^\n]*\n)+|\/\/[^\n]*|(?<=[(,=:[!&|?{};\n>]\s*|return )\/(?![*/])(?:\[(?:\\.|[^\]\\\n])*\]|\\.|[^/\\\n[])+\/[a-z]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`/g
const PYTHON =
  /"""[\s\S]*?"""|(?:(?<=^|\n)[ \t]*#[^\n]*\n)+|#[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g

const COMMENT = /^\s*(?:\/[/*]|#|""")/

// A string before the function of a test or of a group.
const NAME =
  /(?:\b(?:it|describe|bench)|[\])])\(\s*('(?:\\.|[^'\\\n])*'|`(?:\\[\s\S]|[^`\\])*`),\s*(?:async\b|\(|\{)/g

/** The comments and strings of a TypeScript or Python source, each as one line without its code. */
export function proseOf(path: string, source: string): Prose[] {
  return [...source.matchAll(path.endsWith('.py') ? PYTHON : TYPESCRIPT)].flatMap((match) =>
    proseAt(source, match.index, match[0]),
  )
}

/** The comments and names of a test, each as one line without its code. */
export function testProseOf(source: string): Prose[] {
  const comments = [...source.matchAll(TYPESCRIPT)].filter(([literal]) => COMMENT.test(literal))
  return [
    ...comments.flatMap((match) => proseAt(source, match.index, match[0])),
    ...[...source.matchAll(NAME)].flatMap((match) => proseAt(source, match.index, match[1] ?? '')),
  ]
}

function proseAt(source: string, index: number, literal: string): Prose[] {
  const text = plain(literal)
  return text === '' ? [] : [{ line: source.slice(0, index).split('\n').length, text }]
}

function plain(literal: string): string {
  const trimmed = literal.trim()
  if (/^\/(?![*/])/.test(trimmed)) return ''
  const body = COMMENT.test(trimmed)
    ? trimmed
        .replaceAll(/^\s*(?:\/\*\*?|\*\/|\*|\/\/|#|""")|\*\/$|"""$/gm, '')
        .replaceAll(/`[^`]*`/g, '``')
    : trimmed.slice(1, -1).replaceAll(/\$\{[^{}]*\}/g, '…')
  return body.replaceAll(/\s+/g, ' ').trim()
}
