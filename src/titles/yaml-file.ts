/** Reads a YAML file strictly: a fault is told with file, line and key, all of them at once. */

import { readFileSync } from 'node:fs'
import { LineCounter, isMap, isNode, isSeq, parse, parseDocument, type Document } from 'yaml'
import type { z } from 'zod'
import { ConfigError, messageOf } from '../support/errors.ts'

/**
 * The checked content of `path`.
 * @param name the file as messages call it
 * @throws ConfigError naming file, line and key of every fault
 */
export function readYaml<T>(path: string, name: string, schema: z.ZodType<T>): T {
  return parseYaml(readText(path, name), name, schema)
}

/** As {@link readYaml}, from text. An empty text is an empty map. */
export function parseYaml<T>(text: string, name: string, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(valueOf(text, name) ?? {})
  if (parsed.success) return parsed.data
  // Only a faulty file is parsed a second time, to learn its line numbers.
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const faults = parsed.error.issues.flatMap((issue) => {
    const keys = issue.code === 'unrecognized_keys' ? issue.keys : [null]
    return keys.map((key) => {
      const place = key === null ? issue.path : [...issue.path, key]
      const said = key === null ? issue.message : 'unknown key'
      return `${name}:${lineOf(place, document, lines)}: ${place.join('.') || 'content'}: ${said}`
    })
  })
  throw new ConfigError(faults.join('\n'), { hint: HINT })
}

const HINT = 'Mend the file and run again; nothing was changed.'

function readText(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`${name}: ${messageOf(error)}`, { hint: HINT, cause: error })
  }
}

function valueOf(text: string, name: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    throw new ConfigError(`${name}: not valid YAML: ${messageOf(error)}`, { hint: HINT })
  }
}

// The line of the key or list entry itself, or of the nearest parent that stands in the file.
function lineOf(
  path: readonly PropertyKey[],
  document: Document.Parsed,
  lines: LineCounter,
): number {
  for (let length = path.length; length > 0; length -= 1) {
    const parent =
      length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true)
    const name = path[length - 1]
    const node = isMap(parent)
      ? parent.items.find((item) => String(item.key) === String(name))?.key
      : isSeq(parent) && parent.items[Number(name)]
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
  }
  return 1
}
