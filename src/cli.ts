#!/usr/bin/env node
/**
 * The command line: commands from src/cli, each a function that gets its options and the world. Every error ends here, once,
 * as one sentence, what to do next, and an exit code. Commands are imported when they are called, so that `--help` is quick.
 */

import { Command, CommanderError } from 'commander'
import { addCommands } from './cli/commands.ts'
import { createContext, packageVersion, type Start } from './cli/context.ts'
import { processOutput, type Output } from './cli/output.ts'
import { processEnvironment, quietSdk, refuseKeyInArguments, secretsOf } from './config.ts'
import { realClock } from './support/clock.ts'
import { ConfigError, EXIT, JobtideError, asStorageError, type ExitCode } from './support/errors.ts'
import { keepFilesPrivate } from './support/file-modes.ts'
import { createScrubber } from './support/logger.ts'
import { SECOND } from './support/units.ts'

const DRAIN_MS = 10 * SECOND
const LAST_WORDS_MS = SECOND / 4

function createProgram(start: Start): Command {
  const program = new Command('jobtide')
    .description(
      'Job-change events: bought once, kept, merged into DuckDB, modelled, published as Parquet.',
    )
    .version(packageVersion())
    .exitOverride()
    // Errors of usage end in main() like all others: one sentence, what to do next, JSON where it is wanted.
    .configureOutput({ outputError: () => undefined })

  addCommands(program, start)
  return program
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
  // Its list of made-up organisations is for everybody, and it writes nothing else.
  if (argv[0] !== 'simulate') keepFilesPrivate()
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

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    AbortSignal.timeout(ms).addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Resolves when all that was written has left the process, or cannot leave it any more. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => resolve())
  })
}

const exitCode = await main(process.argv.slice(2))
process.exitCode = exitCode
// Whoever stopped it does not wait for a reader that takes nothing; all that it said has been offered by then.
const isStopped = exitCode === EXIT.interrupted || exitCode === EXIT.terminated
const patience = isStopped ? [elapsed(LAST_WORDS_MS)] : []
// Sockets or timers that a library keeps must not keep a nightly job alive after its work is done and written.
await Promise.race([Promise.all([written(process.stdout), written(process.stderr)]), ...patience])
process.exit()
