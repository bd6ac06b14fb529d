/** Every command: its name, arguments and options, and the function that is imported when it is called. */

import type { Command } from 'commander'
import type { Declaration } from './commands/declaration.ts'
import { READ_COMMANDS } from './commands/read.ts'
import { RUN_COMMANDS } from './commands/run.ts'
import { SNAPSHOT_COMMANDS } from './commands/snapshots.ts'
import { TOOL_COMMANDS } from './commands/tools.ts'
import type { CommonOptions, Start } from './context.ts'
import { COMMON_OPTIONS, toOption } from './options.ts'

/** In the order of "jobtide --help". */
export const COMMANDS: readonly Declaration[] = [
  ...RUN_COMMANDS,
  ...READ_COMMANDS,
  ...SNAPSHOT_COMMANDS,
  ...TOOL_COMMANDS,
]

export function addCommands(program: Command, start: Start): void {
  for (const declared of COMMANDS) {
    const command = program.command(declared.name).description(declared.about)
    for (const one of declared.arguments ?? []) command.argument(...one)
    for (const one of [...(declared.options ?? []), ...COMMON_OPTIONS])
      command.addOption(toOption(one))
    command.action((...given: unknown[]) => {
      // Commander gives the arguments, then the options, then the command.
      const args = given.slice(0, -1)
      const options = args.at(-1) as CommonOptions & { readonly pipeline?: string }
      const at = (declared.arguments ?? []).findIndex(([name]) => /pipeline/.test(name))
      const pipelines = [at < 0 ? options.pipeline : args[at]].flat() as (string | undefined)[]
      return start(
        options,
        pipelines.filter((name) => name !== undefined),
        async (context) => (await declared.import())(...([context, ...args] as never[])),
      )
    })
  }
}
