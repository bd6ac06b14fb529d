/** `schema`: prints the JSON Schema of what `--json` prints. */

import { z } from 'zod'
import { ConfigError, EXIT, type ExitCode } from '../support/errors.ts'
import { didYouMean } from '../support/nearest.ts'
import type { Context } from './context.ts'
import { DOCUMENTS, failure } from './documents.ts'
import { SCHEMA_VERSION } from './report.ts'

/** Prints the schema of one command, else those of all under `$defs`. @throws ConfigError for an unknown command */
export async function schemaCommand(
  { output, stop }: Context,
  command: string | undefined,
): Promise<ExitCode> {
  await output.stream(`${JSON.stringify(schemaOf(command), null, 2)}\n`, stop)
  return EXIT.done
}

function schemaOf(command: string | undefined): object {
  if (command === undefined) {
    const all = Object.fromEntries(
      Object.keys(DOCUMENTS).map((name) => [name, { ...schemaOf(name), $schema: undefined }]),
    )
    return { $schema: DIALECT, title: `jobtide ${SCHEMA_VERSION}`, $defs: all }
  }
  const document = Object.hasOwn(DOCUMENTS, command) ? DOCUMENTS[command] : undefined
  if (document === undefined) {
    throw new ConfigError(`there is no command ${command} with --json`, {
      hint: `${didYouMean(command, Object.keys(DOCUMENTS))}Name one of: ${Object.keys(DOCUMENTS).join(', ')}`,
    })
  }
  // Documents may have keys that this version does not know; `input` allows them.
  const schema = z.toJSONSchema(z.union([document, failure]), { io: 'input' })
  return { ...schema, title: `jobtide ${command} --json, schema_version ${SCHEMA_VERSION}` }
}

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'
