/** The commands that run a pipeline, and its stages one by one. */

import { Option, type Command } from 'commander'
import type { Overrides } from '../run/job.ts'
import type { CommonOptions, Start } from './context.ts'
import { addCommonOptions, addGuardOptions, addLossOption, addRunOptions } from './options.ts'
import type { PlanOptions } from './plan-command.ts'
import type { PublishCommandOptions, ReplayOptions } from './stage-commands.ts'

/** Adds them to the program. */
export function addRunCommands(program: Command, start: Start): void {
  addCommonOptions(program.command('demo'))
    .description('the whole journey on this machine: no account, no network')
    .action((options: CommonOptions) =>
      start(options, async (context) => (await import('./demo-command.ts')).demoCommand(context)),
    )

  addGuardOptions(addLossOption(addRunOptions(program.command('run'))))
    .description('plan, extract, load, build and publish a pipeline')
    .argument('<pipeline>', 'name below pipelines/, or a path')
    .action((pipeline: string, options: CommonOptions & Overrides) =>
      start(options, async (context) =>
        (await import('./run-commands.ts')).runCommand(context, 'run', pipeline, options),
      ),
    )

  addGuardOptions(addLossOption(addRunOptions(program.command('backfill'))))
    .description('a run over a long window')
    .argument('[pipeline]', 'name below pipelines/, or a path', 'backfill')
    .action((pipeline: string, options: CommonOptions & Overrides) =>
      start(options, async (context) =>
        (await import('./run-commands.ts')).runCommand(context, 'backfill', pipeline, options),
      ),
    )

  addRunOptions(program.command('plan'))
    .description('what a run would ask and cost; sends nothing without --quote')
    .argument('<pipeline>', 'name below pipelines/, or a path')
    .option('--quote', 'the exact bill: asks the service; what it buys is kept for the run')
    .addOption(
      new Option('--cadence', 'compare asking nightly, every second night and weekly').conflicts(
        'quote',
      ),
    )
    .action((pipeline: string, options: CommonOptions & PlanOptions) =>
      start(options, async (context) =>
        options.quote === true
          ? (await import('./quote-command.ts')).quoteCommand(context, pipeline, options)
          : (await import('./plan-command.ts')).planCommand(context, pipeline, options),
      ),
    )

  addLossOption(addRunOptions(program.command('extract')))
    .description('buy the pages of a pipeline into the journal, and nothing else')
    .argument('<pipeline>', 'name below pipelines/, or a path')
    .action((pipeline: string, options: CommonOptions & Overrides) =>
      start(options, async (context) =>
        (await import('./run-commands.ts')).runCommand(context, 'extract', pipeline, options),
      ),
    )
}

/** Adds the commands of single stages. */
export function addStageCommands(program: Command, start: Start): void {
  addCommonOptions(program.command('load'))
    .description('bring the warehouse up to date with the journal')
    .action((options: CommonOptions) =>
      start(options, async (context) => (await import('./stage-commands.ts')).loadCommand(context)),
    )

  addCommonOptions(program.command('build'))
    .description('build and check the models')
    .action((options: CommonOptions) =>
      start(options, async (context) =>
        (await import('./stage-commands.ts')).buildCommand(context),
      ),
    )

  addGuardOptions(addCommonOptions(program.command('publish')))
    .description('publish a Parquet snapshot of the warehouse')
    .option('--pipeline <pipeline>', 'whose snapshot destination to use', 'nightly')
    .option('--snapshot-to <folder|s3://…>', 'where the snapshot goes')
    .option('--keep <n|rules>', 'snapshots to keep: 30, or last=7,daily=30,weekly=12,monthly=24')
    .option('--compact', 'write every table as whole files, not only what changed')
    .option('--accept-schema-change', 'publish although tables or columns went or changed type')
    .action((options: CommonOptions & PublishCommandOptions) =>
      start(options, async (context) =>
        (await import('./stage-commands.ts')).publishCommand(context, options),
      ),
    )

  addLossOption(addCommonOptions(program.command('replay')))
    .description('rebuild the warehouse from the journal for 0 credits')
    .action((options: CommonOptions & ReplayOptions) =>
      start(options, async (context) =>
        (await import('./stage-commands.ts')).replayCommand(context, options),
      ),
    )
}
