/**
 * Ends a process whose code never returns, from another thread. That thread has the current input and first writes it
 * to a file.
 */

import { Worker } from 'node:worker_threads'
import { LARGEST_INPUT } from './mutate.ts'

// Much longer than a slow reading, which is measured and repeated once the code returns.
const LONGEST_MS = 30_000

const WATCH = `
  const { writeFileSync } = require('node:fs')
  const { workerData: { state, bytes, longestMs } } = require('node:worker_threads')
  for (let count = 0, since = Date.now(); ; ) {
    Atomics.wait(state, 3, 0, 500)
    if (state[0] !== count || state[1] === 0) [count, since] = [state[0], Date.now()]
    if (Date.now() - since < longestMs) continue
    const path = Buffer.from(bytes.subarray(0, state[2])).toString()
    writeFileSync(path, bytes.subarray(state[2], state[2] + state[1] - 1))
    process.stderr.write('no end within ' + longestMs / 1000 + ' s: ' + path + '\\n')
    process.kill(process.pid, 'SIGKILL')
  }`

/** Starts watching. Call `begin` with each input and the path that it would be kept at, `rest` when none is being read. */
export function watch() {
  // The number of inputs begun; bytes of the current one plus 1, or 0 for none; bytes of its path; the value that the
  // thread waits on.
  const state = new Int32Array(new SharedArrayBuffer(16))
  const bytes = new Uint8Array(new SharedArrayBuffer(LARGEST_INPUT + 4_096))
  const workerData = { state, bytes, longestMs: LONGEST_MS }
  const worker = new Worker(WATCH, { eval: true, workerData })
  worker.unref()
  return {
    begin(input: Buffer, path: string): void {
      const name = Buffer.from(path)
      bytes.set(name)
      bytes.set(input, name.length)
      state[2] = name.length
      state[1] = input.length + 1
      state[0] = (state[0] ?? 0) + 1
    },
    rest(): void {
      state[1] = 0
    },
    end: () => worker.terminate(),
  }
}
