/** Reads a YAML file strictly: faults are named with file, line and key, all of them at once. */

import { join } from 'node:path'
import { LineCounter, parse, parseDocument } from 'yaml'
import type { z } from 'zod'
import { packageRoot } from '../support/assets.ts'
import { readNamedFile } from '../support/atomic-file.ts'
import { ConfigError, messageOf } from '../support/errors.ts'
import { ownText, type OwnList } from '../support/own-lists.ts'
import { plainly } from '../support/schema-words.ts'
import { lineOf } from '../support/yaml-lines.ts'

/**
 * The checked content of a file that ships with the package, such as `config/ladders.yaml`.
 * @throws ConfigError naming file, line and key of every fault
 */
export function readYaml<T>(name: string, schema: z.ZodType<T>): T {
  return parseYaml(
    readNamedFile('word list', join(packageRoot, name), HINT).toString(),
    name,
    schema,
  )
}

/**
 * A list that the project may have in place of the package's.
 * @returns a function that reads it again only after it changed
 * @throws ConfigError from that function, naming file, line and key of every fault
 */
export function ownList<T>(
  name: OwnList,
  schema: z.ZodType<T>,
  shipped = () => readYaml(name, schema),
) {
  let last: { readonly text: string | undefined; readonly value: T } | undefined
  return (): T => {
    const text = ownText(name)
    if (last === undefined || last.text !== text) {
      last = { text, value: text === undefined ? shipped() : parseYaml(text, name, schema) }
    }
    return last.value
  }
}

/** As {@link readYaml}, from text. An empty text is an empty map. */
export function parseYaml<T>(text: string, name: string, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(valueOf(text, name) ?? {}, { error: plainly })
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

const HINT = 'Fix the file and run again. Nothing was changed.'

function valueOf(text: string, name: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    throw new ConfigError(`${name}: not valid YAML: ${messageOf(error)}`, { hint: HINT })
  }
}
