/**
 * The little XML that S3 speaks: elements with text or children, no attributes but the namespace.
 * Reading is strict: a document that is not well-formed is refused as MalformedXML, as S3 does.
 */
import { S3Error } from './s3-errors.ts'

const NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/'

/** One element to write: its name and its text or children. */
export type XmlContent = string | number | boolean | readonly XmlChild[]
export type XmlChild = readonly [name: string, content: XmlContent]

/** One element that was read. `text` is the text directly inside it. */
export interface XmlElement {
  readonly name: string
  readonly children: readonly XmlElement[]
  readonly text: string
}

/** A whole document; errors carry no namespace, everything else does. */
export function xmlDocument(root: string, children: readonly XmlChild[]): string {
  const attribute = root === 'Error' ? '' : ` xmlns="${NAMESPACE}"`
  const body = children.map(writeElement).join('')
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${root}${attribute}>${body}</${root}>`
}

function writeElement([name, content]: XmlChild): string {
  const inner =
    typeof content === 'object' ? content.map(writeElement).join('') : escapeXml(String(content))
  return `<${name}>${inner}</${name}>`
}

// Control characters are legal in keys; S3 writes them as character references, although XML 1.0 forbids most.
// oxlint-disable-next-line no-control-regex
const ESCAPED = /[&<>"\u0000-\u001f\u007f]/g
const NAMED = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
])

function escapeXml(text: string): string {
  return text.replace(ESCAPED, (char) => {
    return NAMED.get(char) ?? `&#x${char.charCodeAt(0).toString(16)};`
  })
}

const REFERENCE = /&(?:#x([0-9a-fA-F]+)|#([0-9]+)|(amp|lt|gt|quot|apos));/g
const CHARACTER: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
}

function unescapeXml(text: string): string {
  return text.replace(
    REFERENCE,
    (whole, hex: string | undefined, decimal: string | undefined, name: string | undefined) => {
      if (name !== undefined) return CHARACTER[name] ?? whole
      return String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16))
    },
  )
}

interface OpenElement {
  name: string
  children: XmlElement[]
  text: string
}

/**
 * Reads a document and returns its root.
 * @throws S3Error MalformedXML when it is not well-formed or its root is not `rootName`
 */
export function parseXml(document: string, rootName: string): XmlElement {
  const source = document.replace(/^\uFEFF?\s*<\?xml[^>]*\?>/, '').trim()
  const token = /<(\/?)([A-Za-z][\w.:-]*)((?:\s[^<>]*?)?)(\/?)>|([^<>]+)/gy
  const top: OpenElement = { name: '', children: [], text: '' }
  const open: OpenElement[] = [top]
  while (token.lastIndex < source.length) {
    const match = token.exec(source)
    const parent = open.at(-1)
    if (match === null || parent === undefined) throw malformedXml()
    const [, slash, name, , selfClosing, text] = match
    if (text !== undefined) {
      parent.text += unescapeXml(text)
    } else if (slash === '/') {
      if (open.length < 2 || parent.name !== name) throw malformedXml()
      open.pop()
    } else {
      const element: OpenElement = { name: name ?? '', children: [], text: '' }
      parent.children.push(element)
      if (selfClosing !== '/') open.push(element)
    }
  }
  const [root, ...others] = top.children
  if (open.length !== 1 || root?.name !== rootName || others.length > 0) throw malformedXml()
  return root
}

/** The children of `element` named `name`, in document order. */
export function childrenNamed(element: XmlElement, name: string): XmlElement[] {
  return element.children.filter((child) => child.name === name)
}

/** The text of the first child named `name`, or undefined when there is none. */
export function childText(element: XmlElement, name: string): string | undefined {
  return element.children.find((child) => child.name === name)?.text
}

/** What S3 answers to a document it cannot use. */
export function malformedXml(): S3Error {
  return new S3Error(
    'MalformedXML',
    'The XML you provided was not well-formed or did not validate against our published schema',
  )
}
