#!/usr/bin/env node
/**
 * The command line: a table of commands, each a function that gets its options and the world. Every error ends here, once,
 * as one sentence, what to do next, and an exit code. Commands are imported when they are called, so that `--help` is quick.
 */

import { Command, CommanderError, Option } from 'commander'
import { createContext, packageVersion, type CommonOptions, type Context } from './cli/context.ts'
import type { CoverageOptions } from './cli/coverage-command.ts'
import type { CreditsOptions } from './cli/credits-command.ts'
import {
  CREDIT_GROUPS,
  QUERY_FORMATS,
  TITLES_FORMATS,
  addCommonOptions,
  addRunOptions,
  wholeNumber,
  type QueryFormat,
  type TitlesFormat,
} from './cli/options.ts'
import { processOutput, type Output } from './cli/output.ts'
import type { PlanOptions } from './cli/plan-command.ts'
import type { RejectsOptions } from './cli/rejects-command.ts'
import type { SimulateOptions } from './cli/simulate-command.ts'
import type { TitlesOptions } from './cli/titles-command.ts'
import { processEnvironment, quietSdk, refuseKeyInArguments, secretsOf } from './config.ts'
import type { Overrides } from './run/job.ts'
import { realClock } from './support/clock.ts'
import { ConfigError, EXIT, JobtideError, asStorageError, type ExitCode } from './support/errors.ts'
import { createScrubber } from './support/logger.ts'
import { SECOND } from './support/units.ts'

const DRAIN_MS = 10 * SECOND

/** Runs a command once its options are known; returns the exit code. */
type Start = (
  options: CommonOptions,
  work: (context: Context) => Promise<ExitCode>,
) => Promise<void>

function createProgram(start: Start): Command {
  const program = new Command('jobtide')
    .description(
      'Job-change events: bought once, kept, merged into DuckDB, modelled, published as Parquet.',
    )
    .version(packageVersion())
    .exitOverride()
    // Errors of usage end in main() like all others: one sentence, what to do next, JSON where it is wanted.
    .configureOutput({ outputError: () => undefined })

  addCommonOptions(program.command('demo'))
    .description('the whole journey on this machine: no account, no network')
    .action((options: CommonOptions) =>
      start(options, async (context) =>
        (await import('./cli/demo-command.ts')).demoCommand(context),
      ),
    )

  addRunOptions(program.command('run'))
    .description('plan, extract, load, build and publish a pipeline')
    .argument('<pipeline>', 'name below pipelines/, or a path')
    .action((pipeline: string, options: CommonOptions & Overrides) =>
      start(options, async (context) =>
        (await import('./cli/run-commands.ts')).runCommand(context, 'run', pipeline, options),
      ),
    )

  addRunOptions(program.command('backfill'))
    .description('a run over a long window')
    .argument('[pipeline]', 'name below pipelines/, or a path', 'backfill')
    .action((pipeline: string, options: CommonOptions & Overrides) =>
      start(options, async (context) =>
        (await import('./cli/run-commands.ts')).runCommand(context, 'backfill', pipeline, options),
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
          ? (await import('./cli/quote-command.ts')).quoteCommand(context, pipeline, options)
          : (await import('./cli/plan-command.ts')).planCommand(context, pipeline, options),
      ),
    )

  addRunOptions(program.command('extract'))
    .description('buy the pages of a pipeline into the journal, and nothing else')
    .argument('<pipeline>', 'name below pipelines/, or a path')
    .action((pipeline: string, options: CommonOptions & Overrides) =>
      start(options, async (context) =>
        (await import('./cli/run-commands.ts')).runCommand(context, 'extract', pipeline, options),
      ),
    )

  addStageCommands(program, start)
  addLookCommands(program, start)
  return program
}

function addStageCommands(program: Command, start: Start): void {
  addCommonOptions(program.command('load'))
    .description('bring the warehouse up to date with the journal')
    .action((options: CommonOptions) =>
      start(options, async (context) =>
        (await import('./cli/stage-commands.ts')).loadCommand(context),
      ),
    )

  addCommonOptions(program.command('build'))
    .description('build and check the models')
    .action((options: CommonOptions) =>
      start(options, async (context) =>
        (await import('./cli/stage-commands.ts')).buildCommand(context),
      ),
    )

  addCommonOptions(program.command('publish'))
    .description('publish a Parquet snapshot of the warehouse')
    .option('--pipeline <pipeline>', 'whose snapshot destination to use', 'nightly')
    .option('--snapshot-to <folder|s3://…>', 'where the snapshot goes')
    .action((options: CommonOptions & { pipeline: string; snapshotTo?: string }) =>
      start(options, async (context) =>
        (await import('./cli/stage-commands.ts')).publishCommand(context, options),
      ),
    )

  addCommonOptions(program.command('replay'))
    .description('rebuild the warehouse from the journal for 0 credits')
    .action((options: CommonOptions) =>
      start(options, async (context) =>
        (await import('./cli/stage-commands.ts')).replayCommand(context),
      ),
    )
}

function addLookCommands(program: Command, start: Start): void {
  addCommonOptions(program.command('status'))
    .description('last runs, coverage, credits, rejects, snapshot')
    .action((options: CommonOptions) =>
      start(options, async (context) =>
        (await import('./cli/status-command.ts')).statusCommand(context),
      ),
    )

  addCommonOptions(program.command('coverage'))
    .description('how far each organisation was read, and where the gaps are')
    .argument('[pipeline]', 'name below pipelines/, or a path; absent: all that were asked for')
    .option('--prove', 'list what was not looked at, by organisation, event type and interval')
    .option('--all', 'show every row')
    .action((pipeline: string | undefined, options: CommonOptions & CoverageOptions) =>
      start(options, async (context) =>
        (await import('./cli/coverage-command.ts')).coverageCommand(context, pipeline, options),
      ),
    )

  addCommonOptions(program.command('credits'))
    .description('what was spent, on what, and what it brought')
    .argument('[pipeline]', 'name below pipelines/, or a path; absent: all of them')
    .addOption(new Option('--by <what>', 'a row for each').choices(CREDIT_GROUPS))
    .option('--days <n>', 'only the last n days, today included', wholeNumber(1, 100_000))
    .option('--all', 'show every row')
    .action((pipeline: string | undefined, options: CommonOptions & CreditsOptions) =>
      start(options, async (context) =>
        (await import('./cli/credits-command.ts')).creditsCommand(context, pipeline, options),
      ),
    )

  addCommonOptions(program.command('rejects'))
    .description('events that did not fit, and why')
    .option('--limit <n>', 'how many to show, the newest first', wholeNumber(0, 1e9), 20)
    .action((options: CommonOptions & RejectsOptions) =>
      start(options, async (context) =>
        (await import('./cli/rejects-command.ts')).rejectsCommand(context, options),
      ),
    )

  addCommonOptions(program.command('query'))
    .description('read-only SQL on the warehouse')
    .argument('<sql>', 'one SQL statement')
    .addOption(
      new Option('--format <format>', 'how to print')
        .choices(QUERY_FORMATS)
        .default('table' satisfies QueryFormat),
    )
    .action((sql: string, options: CommonOptions & { format: QueryFormat }) =>
      start(options, async (context) =>
        (await import('./cli/query-command.ts')).queryCommand(context, sql, options.format),
      ),
    )

  addCommonOptions(program.command('models'))
    .description('the tables: what a row is, rows, columns, what each is made from')
    .argument('[table]', 'one table in full')
    .action((table: string | undefined, options: CommonOptions) =>
      start(options, async (context) =>
        (await import('./cli/models-command.ts')).modelsCommand(context, table),
      ),
    )

  addCommonOptions(program.command('titles'))
    .description('how job titles, or changes of title, are understood')
    .argument(
      '[file]',
      'a title a line, or CSV with a column title, or previous and current; - or absent: standard input',
      '-',
    )
    .addOption(
      new Option('--format <format>', 'how to print')
        .choices(TITLES_FORMATS)
        .default('csv' satisfies TitlesFormat),
    )
    .option('--ladder <name>', 'read them by a ladder of config/ladders.yaml')
    .action((file: string, options: CommonOptions & TitlesOptions) =>
      start(options, async (context) =>
        (await import('./cli/titles-command.ts')).titlesCommand(context, file, options),
      ),
    )

  addCommonOptions(program.command('simulate'))
    .description('serve a simulator of the job-change service on this machine')
    .option('--port <n>', 'port on 127.0.0.1; 0 for any free one', wholeNumber(0, 65_535), 8_787)
    .option('--key <key>', 'the key it lets in (a made-up one)', 'simulator-key')
    .option('--seed <n>', 'another seed, another world', wholeNumber(0, 1e9), 7)
    .option('--companies <n>', 'organisations in the made-up world', wholeNumber(1, 100_000), 60)
    .option('--events <file>', 'serve these events instead: .ndjson or .ndjson.gz')
    .option('--organizations-out <file>', 'write the list of organisations as CSV')
    .option('--rate-limit <n>', 'requests a second before it answers 429', wholeNumber(1, 100_000))
    .option('--faults <file>', 'JSON array of faults: src/simulator/README.md')
    .action((options: CommonOptions & SimulateOptions) =>
      start(options, async (context) =>
        (await import('./cli/simulate-command.ts')).simulateCommand(context, options),
      ),
    )
}

/** The first signal stops cleanly: requests in flight get ten seconds to end. The second ends the process now. */
function watchSignals(): { stop: AbortSignal; abort: AbortSignal } {
  const stop = new AbortController()
  const abort = new AbortController()
  const onSignal = (exitCode: ExitCode, name: string) => () => {
    if (stop.signal.aborted) process.exit(exitCode)
    const reason = new JobtideError(exitCode, `stopped by ${name}`, {
      hint: 'Run the same command again: it goes on where it stopped; what is in the journal is not bought again.',
    })
    stop.abort(reason)
    const drain = AbortSignal.timeout(DRAIN_MS)
    drain.addEventListener('abort', () => abort.abort(reason), { once: true })
  }
  process.on('SIGINT', onSignal(EXIT.interrupted, 'SIGINT'))
  process.on('SIGTERM', onSignal(EXIT.terminated, 'SIGTERM'))
  return { stop: stop.signal, abort: abort.signal }
}

async function main(argv: readonly string[]): Promise<ExitCode> {
  const environment = processEnvironment()
  const scrubber = createScrubber()
  // The simulator prints the made-up key that it lets in, and uses no other; a shell that has exported it may see it.
  if (argv[0] !== 'simulate') for (const secret of secretsOf(environment)) scrubber.add(secret)
  quietSdk()
  // A reader that closes the pipe early (`jobtide query … | head`) is no failure; a full disk is one.
  let outputError: NodeJS.ErrnoException | null = null
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') outputError ??= error
  })
  process.stderr.on('error', () => undefined)

  const signals = watchSignals()
  let output: Output = processOutput(argv.includes('--json'), scrubber)
  let exitCode: ExitCode = EXIT.done
  const program = createProgram(async (options, work) => {
    output = processOutput(options.json ?? false, scrubber)
    const context = createContext(options, {
      environment,
      clock: realClock,
      random: Math.random,
      scrubber,
      output,
      ...signals,
    })
    exitCode = await work(context)
  })
  try {
    refuseKeyInArguments(argv, environment)
    await program.parseAsync(argv, { from: 'user' })
    await written(process.stdout)
    if (outputError === null) return exitCode
    throw asStorageError(outputError, 'standard output')
  } catch (error) {
    if (!(error instanceof CommanderError)) return output.failure(error)
    if (error.exitCode === 0) return EXIT.done
    // Without any command commander has printed its help already.
    return error.code === 'commander.help' ? EXIT.usage : output.failure(usageError(error, argv))
  }
}

function usageError({ message }: CommanderError, argv: readonly string[]): ConfigError {
  const [command = ''] = argv
  const help = message.includes('unknown command') || command.startsWith('-') ? '' : ` ${command}`
  return new ConfigError(message.replace(/^error: /, ''), {
    hint: `See: jobtide${help} --help`,
  })
}

/** Resolves when all that was written has left the process, or cannot leave it any more. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => resolve())
  })
}

process.exitCode = await main(process.argv.slice(2))
// Sockets or timers that a library keeps must not keep a nightly job alive after its work is done and written.
await Promise.all([written(process.stdout), written(process.stderr)])
process.exit()
