/** The functions of the commands, each imported when it is called. */

import type { Command } from 'commander'
import { refuseFile } from '../run/data-directory.ts'
import type { Start } from './context.ts'
import { COMMANDS, optionsOf, type CommandName, type CommonOptions } from './declarations.ts'
import { toOption } from './options.ts'
import type { Result } from './report.ts'

/** They take the context, the arguments and finally the options. */
const IMPORTS: Readonly<
  Record<CommandName, () => Promise<(...given: never[]) => Promise<Result>>>
> = {
  demo: async () => (await import('./simulator-commands.ts')).demoCommand,
  run: async () => (await import('./service-commands.ts')).runCommand,
  backfill: async () => (await import('./service-commands.ts')).backfillCommand,
  schedule: async () => (await import('./schedule-command.ts')).scheduleCommand,
  plan: async () => (await import('./plan-command.ts')).planCommand,
  extract: async () => (await import('./service-commands.ts')).extractCommand,
  load: async () => (await import('./stage-commands.ts')).loadCommand,
  build: async () => (await import('./stage-commands.ts')).buildCommand,
  publish: async () => (await import('./stage-commands.ts')).publishCommand,
  replay: async () => (await import('./stage-commands.ts')).replayCommand,
  status: async () => (await import('./status-command.ts')).statusCommand,
  coverage: async () => (await import('./coverage-command.ts')).coverageCommand,
  credits: async () => (await import('./credits-command.ts')).creditsCommand,
  rejects: async () => (await import('./rejects-command.ts')).rejectsCommand,
  query: async () => (await import('./query-command.ts')).queryCommand,
  models: async () => (await import('./models-command.ts')).modelsCommand,
  report: async () => (await import('./report-commands.ts')).reportCommand,
  digest: async () => (await import('./report-commands.ts')).digestCommand,
  titles: async () => (await import('./titles-command.ts')).titlesCommand,
  snapshots: async () => (await import('./proof-commands.ts')).snapshotsCommand,
  verify: async () => (await import('./proof-commands.ts')).verifyCommand,
  restore: async () => (await import('./proof-commands.ts')).restoreCommand,
  'restore-journal': async () => (await import('./stage-commands.ts')).restoreJournalCommand,
  forget: async () => (await import('./forget-command.ts')).forgetCommand,
  'export-person': async () => (await import('./forget-command.ts')).exportPersonCommand,
  export: async () => (await import('./export-command.ts')).exportCommand,
  init: async () => (await import('./init-command.ts')).initCommand,
  find: async () => (await import('./find-command.ts')).findCommand,
  suggest: async () => (await import('./find-command.ts')).suggestCommand,
  doctor: async () => (await import('./doctor-command.ts')).doctorCommand,
  simulate: async () => (await import('./simulator-commands.ts')).simulateCommand,
  listen: async () => (await import('./listen-command.ts')).listenCommand,
  schema: async () => (await import('./schema-command.ts')).schemaCommand,
  completion: async () => (await import('./completion-command.ts')).completionCommand,
}

/** Commands that use no data directory, and doctor, which says next to all else what is wrong with it. */
const WITHOUT_DATA: ReadonlySet<CommandName> = new Set([
  'completion',
  'doctor',
  'init',
  'schema',
  'simulate',
  'titles',
])

export function addCommands(program: Command, start: Start): void {
  for (const [key, declared] of Object.entries(COMMANDS)) {
    const name = key as CommandName
    const given = Object.entries(declared.arguments ?? {})
    const command = program.command(name).description(declared.about)
    for (const [argument, declaration] of given) {
      const [about, standard] = [declaration].flat()
      command.argument(argument, about, standard)
    }
    for (const [flags, declaration] of Object.entries(optionsOf(declared)))
      command.addOption(toOption(flags, declaration))
    command.action((...values: unknown[]) => {
      // Commander gives the arguments, then the options, then the command.
      const args = values.slice(0, -1)
      const options = args.at(-1) as CommonOptions & { readonly pipeline?: string }
      const at = given.findIndex(([argument]) => argument.includes('pipeline'))
      const pipelines = [at < 0 ? options.pipeline : args[at]].flat() as (string | undefined)[]
      return start(
        options,
        pipelines.filter((one) => one !== undefined),
        async (context) => {
          if (!WITHOUT_DATA.has(name)) refuseFile(context.directory.root)
          return (await IMPORTS[name]())(...([context, ...args] as never[]))
        },
      )
    })
  }
}
