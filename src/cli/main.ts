/** Runs one command from its arguments to its exit code. Every error ends here as one sentence and a hint. */

import { Command, CommanderError } from 'commander'
import {
  logLevelFrom,
  misspelt,
  quietSdk,
  refuseKeyInArguments,
  secretsOf,
  type Environment,
} from '../config.ts'
import { engineVersion, packageVersion } from '../support/assets.ts'
import { realClock } from '../support/clock.ts'
import { ConfigError, EXIT, asStorageError, type ExitCode } from '../support/errors.ts'
import { createScrubber } from '../support/logger.ts'
import { addCommands } from './commands.ts'
import type { ProcessParts, Start } from './context.ts'
import type { Output, Streams } from './output.ts'

type World = Pick<ProcessParts, 'environment' | 'random' | 'stop' | 'abort'>

/** Runs one command; resolves when its stdout has been read or can no longer be delivered. */
export async function runCommandLine(
  argv: readonly string[],
  { streams, ...given }: World & { readonly streams: Streams },
): Promise<ExitCode> {
  const scrubber = createScrubber()
  quietSdk()
  // A reader that closes the pipe early (`jobtide query … | head`) is not a failure; a full disk is.
  let outputError: NodeJS.ErrnoException | null = null
  streams.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') outputError ??= error
  })
  streams.stderr.on('error', () => undefined)

  // Fields of the current run, added to each of its log lines.
  const logFields: Record<string, string> = {}
  let output: Output | null = null
  let exitCode: ExitCode = EXIT.done
  // The simulator prints the made-up key that it accepts and uses no other key, so it may be shown.
  const keepSecret = (all: Environment) => {
    if (argv[0] !== 'simulate') for (const secret of secretsOf(all)) scrubber.add(secret)
    refuseKeyInArguments(argv, all)
  }
  const shownIn = (environment: Environment) =>
    argv.includes('--no-color') ? { ...environment, FORCE_COLOR: '0' } : environment
  const program = createProgram(async (options, pipelines, work) => {
    const [{ createContext, withEnvFiles }, { conclude, streamOutput }] = await Promise.all([
      import('./context.ts'),
      import('./output.ts'),
    ])
    // A copy, because some variables of the files are set in the process's own environment.
    const startedWith = { ...given.environment }
    const { environment, warnings } = withEnvFiles(given.environment, pipelines)
    keepSecret(environment)
    const level = logLevelFrom(environment, options.logLevel)
    const isLog = level !== null && level !== 'silent'
    const write = (line: string) => streams.stderr.write(line)
    const log = isLog
      ? (await import('../support/json-log.ts')).createJsonLog(level, scrubber, write, logFields)
      : null
    output = streamOutput(options.json ?? false, scrubber, streams, shownIn(environment), log)
    const parts = { ...given, environment, startedWith, clock: realClock, scrubber, output, log }
    const context = createContext(options, { ...parts, logFields }, pipelines)
    for (const reason of warnings) context.logger.warn({ reason }, 'env_file')
    for (const reason of misspelt(environment)) context.logger.warn({ reason }, 'variable')
    const result = await work(context).catch((error: unknown) => {
      context.progress.giveUp()
      throw error
    })
    context.progress.stop()
    exitCode = conclude(context.output, result)
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
    output ??= streamOutput(argv.includes('--json'), scrubber, streams, shownIn(given.environment))
    if (error instanceof CommanderError) return output.failure(usageError(error, argv))
    const { path = 'the disk' } = Object(error) as NodeJS.ErrnoException
    return output.failure(asStorageError(error, path))
  }
}

function outputFailure(error: NodeJS.ErrnoException): unknown {
  if (error.code !== 'EBADF') return asStorageError(error, 'standard output')
  // It is closed, or open for reading only.
  return new ConfigError('standard output cannot be written', {
    hint: 'Use a terminal, a pipe or a file. The command itself is done.',
  })
}

function createProgram(start: Start, { stdout, stderr }: Streams): Command {
  const program = new Command('jobtide')
    .description(
      'Buys job-change events once, keeps them, and turns them into DuckDB tables and Parquet files.',
    )
    .version(`${packageVersion()} (Node.js ${process.versions.node}, DuckDB ${engineVersion()})`)
    .exitOverride()
    // Usage errors end like all others: one sentence, a hint, and JSON if requested.
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

/** Resolves when all output has left the process or can no longer leave it. */
export function written(stream: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => resolve())
  })
}
