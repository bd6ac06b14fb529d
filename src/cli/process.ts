/** Runs the process of one command, with its signals and exit. Entry point of the bundle. */

import { runCommandLine, written } from './main.ts'
import { processEnvironment } from '../config.ts'
import { EXIT, JobtideError, SIGNALS, isStop, type ExitCode } from '../support/errors.ts'
import { keepFilesPrivate } from '../support/file-modes.ts'
import { SECOND } from '../support/units.ts'

const DRAIN_MS = 10 * SECOND
const LAST_WORDS_MS = SECOND / 4

/** The first signal stops cleanly: requests in flight get ten seconds to end. The second ends the process now. */
function watchSignals(): { stop: AbortSignal; abort: AbortSignal } {
  const stop = new AbortController()
  const abort = new AbortController()
  const onSignal = (exitCode: ExitCode, name: string) => {
    if (stop.signal.aborted) {
      // A terminal that closes sends it twice: once from the system, once from the shell.
      if (exitCode === EXIT.hungUp) return
      process.exit(exitCode)
    }
    const reason = new JobtideError(exitCode, `stopped by ${name}`, {
      hint: 'Run the same command again: it continues where it stopped. Pages in the journal are not bought again.',
    })
    stop.abort(reason)
    void elapsed(DRAIN_MS).then(() => abort.abort(reason))
  }
  for (const exitCode of [EXIT.hungUp, EXIT.interrupted, EXIT.terminated]) {
    const name = SIGNALS[exitCode]
    if (name !== undefined) process.on(name, () => onSignal(exitCode, name))
  }
  return { stop: stop.signal, abort: abort.signal }
}

/** Resolves after `ms` milliseconds, for which the process does not stay up. */
function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    AbortSignal.timeout(ms).addEventListener('abort', () => resolve(), { once: true })
  })
}

void main()

async function main(): Promise<never> {
  const argv = process.argv.slice(2)
  // These commands write only a list of made-up organisations or a new folder, without personal data.
  if (argv[0] !== 'simulate' && argv[0] !== 'init') keepFilesPrivate()
  const { stdout, stderr } = process
  const exitCode = await runCommandLine(argv, {
    environment: processEnvironment(),
    streams: { stdout, stderr },
    random: Math.random,
    ...watchSignals(),
  })
  process.exitCode = exitCode
  // A stopped command does not wait for a reader that has stalled.
  const patience = isStop(exitCode) ? [elapsed(LAST_WORDS_MS)] : []
  // Sockets or timers that a library keeps must not keep a nightly job alive after its work is done and written.
  await Promise.race([Promise.all([written(stdout), written(stderr)]), ...patience])
  return process.exit()
}
