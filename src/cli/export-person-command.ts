/** `export-person`: everything that is known of one person, as JSON, whatever the options. */

import { exportPerson } from '../run/forget/export-person.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import { runWorld, type Context } from './context.ts'

/** `export-person`. @throws ConfigError when nothing is known of them */
export async function exportPersonCommand(context: Context, profileId: string): Promise<ExitCode> {
  const { output } = context
  const found = await exportPerson(runWorld(context), profileId)
  // For people it is spread over lines; a program gets the same document.
  output.report({ title: JSON.stringify(found, null, 2), values: { ...found } })
  return EXIT.done
}
