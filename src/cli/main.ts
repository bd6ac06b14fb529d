/** One command from its arguments to its exit code. Every error ends here, once, as one sentence and what to do next. */

import { Command, CommanderError } from 'commander'
import {
  logLevelFrom,
  misspelt,
  quietSdk,
  refuseKeyInArguments,
  type Environment,
} from '../config.ts'
import { packageVersion } from '../support/assets.ts'
import { realClock } from '../support/clock.ts'
import { ConfigError, EXIT, asStorageError, type ExitCode } from '../support/errors.ts'
import { createScrubber } from '../support/logger.ts'
import { addCommands } from './commands.ts'
import type { ProcessParts, Start } from './context.ts'
import type { Output, Streams } from './output.ts'
import { secretsOf } from './secrets.ts'

export interface CommandLineWorld extends Omit<
  ProcessParts,
  'clock' | 'scrubber' | 'output' | 'log' | 'logFields' | 'startedWith'
> {
  readonly streams: Streams
}

/** Runs one command; resolves when all that it wrote to stdout is with its reader, or cannot get there. */
export async function runCommandLine(
  argv: readonly string[],
  { streams, ...given }: CommandLineWorld,
): Promise<ExitCode> {
  const scrubber = createScrubber()
  quietSdk()
  // A reader that closes the pipe early (`jobtide query … | head`) is no failure; a full disk is one.
  let outputError: NodeJS.ErrnoException | null = null
  streams.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') outputError ??= error
  })
  streams.stderr.on('error', () => undefined)

  // Fields of the run that goes on; they stand on each of its lines.
  const logFields: Record<string, string> = {}
  let output: Output | null = null
  let exitCode: ExitCode = EXIT.done
  // The simulator prints the made-up key that it lets in, and uses no other; a shell that has exported it may see it.
  const keepSecret = (all: Environment) => {
    if (argv[0] !== 'simulate') for (const secret of secretsOf(all)) scrubber.add(secret)
    refuseKeyInArguments(argv, all)
  }
  const program = createProgram(async (options, pipelines, work) => {
    const [{ createContext }, { withEnvFiles }, { streamOutput }] = await Promise.all([
      import('./context.ts'),
      import('./env-files.ts'),
      import('./output.ts'),
    ])
    // A copy: some of what the files say is put into the process's own.
    const startedWith = { ...given.environment }
    const { environment, warnings } = withEnvFiles(given.environment, pipelines)
    keepSecret(environment)
    const level = logLevelFrom(environment, options.logLevel)
    const isLog = level !== null && level !== 'silent'
    const write = (line: string) => streams.stderr.write(line)
    const log = isLog
      ? (await import('../support/json-log.ts')).createJsonLog(level, scrubber, write, logFields)
      : null
    output = streamOutput(options.json ?? false, scrubber, streams, environment, log)
    const parts = {
      ...given,
      environment,
      startedWith,
      clock: realClock,
      scrubber,
      output,
      log,
      logFields,
    }
    const context = createContext(options, parts)
    for (const reason of warnings) context.logger.warn({ reason }, 'env_file')
    for (const reason of misspelt(environment)) context.logger.warn({ reason }, 'variable')
    exitCode = await work(context).finally(() => context.progress.stop())
  }, streams)
  try {
    keepSecret(given.environment)
    await program.parseAsync(argv, { from: 'user' })
    await written(streams.stdout)
    if (outputError === null) return exitCode
    throw outputFailure(outputError)
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return EXIT.done
      // Without any command commander has printed its help already.
      if (error.code === 'commander.help') return EXIT.usage
    }
    const { streamOutput } = await import('./output.ts')
    output ??= streamOutput(argv.includes('--json'), scrubber, streams, given.environment)
    if (error instanceof CommanderError) return output.failure(usageError(error, argv))
    const { path = 'the disk' } = Object(error) as NodeJS.ErrnoException
    return output.failure(asStorageError(error, path))
  }
}

function outputFailure(error: NodeJS.ErrnoException): unknown {
  if (error.code !== 'EBADF') return asStorageError(error, 'standard output')
  // It is closed, or was opened to be read.
  return new ConfigError('standard output cannot be written', {
    hint: 'Give it a terminal, a pipe or a file. What the command was to do is done.',
  })
}

function createProgram(start: Start, { stdout, stderr }: Streams): Command {
  const program = new Command('jobtide')
    .description(
      'Job-change events: bought once, kept, merged into DuckDB, modelled, published as Parquet.',
    )
    .version(packageVersion())
    .exitOverride()
    // Errors of usage end like all others: one sentence, what to do next, JSON where it is wanted.
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      outputError: () => undefined,
    })
  addCommands(program, start)
  return program
}

function usageError({ message }: CommanderError, argv: readonly string[]): ConfigError {
  const [command = ''] = argv
  const help = message.includes('unknown command') || command.startsWith('-') ? '' : ` ${command}`
  return new ConfigError(message.replace(/^error: /, ''), { hint: `See: jobtide${help} --help` })
}

/** Resolves when all that was written has left the process, or cannot leave it any more. */
export function written(stream: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => resolve())
  })
}
