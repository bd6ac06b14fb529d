#!/usr/bin/env node
/** The command line: the process around one command of src/cli, with its signals and its end. */

import { setFlagsFromString } from 'node:v8'
import { runCommandLine, written } from './cli/main.ts'
import { processEnvironment } from './config.ts'
import { EXIT, JobtideError, type ExitCode } from './support/errors.ts'
import { keepFilesPrivate } from './support/file-modes.ts'
import { SECOND } from './support/units.ts'

const DRAIN_MS = 10 * SECOND
const LAST_WORDS_MS = SECOND / 4

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

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    AbortSignal.timeout(ms).addEventListener('abort', () => resolve(), { once: true })
  })
}

// JavaScript gives back what it no longer uses before the engine takes its memory. Measured on a backfill of 131,811 events:
// a peak of 0.5 GB, not of 0.7 GB, for the same processor time.
setFlagsFromString('--optimize-for-size')
const argv = process.argv.slice(2)
// The list of made-up organisations and a new folder name nobody, and these commands write nothing else.
if (argv[0] !== 'simulate' && argv[0] !== 'init') keepFilesPrivate()
const { stdout, stderr } = process
const exitCode = await runCommandLine(argv, {
  environment: processEnvironment(),
  streams: { stdout, stderr },
  random: Math.random,
  ...watchSignals(),
})
process.exitCode = exitCode
// A command that was stopped does not wait for a reader that takes nothing; all that it said has been offered by then.
const isStopped = exitCode === EXIT.interrupted || exitCode === EXIT.terminated
const patience = isStopped ? [elapsed(LAST_WORDS_MS)] : []
// Sockets or timers that a library keeps must not keep a nightly job alive after its work is done and written.
await Promise.race([Promise.all([written(stdout), written(stderr)]), ...patience])
process.exit()
