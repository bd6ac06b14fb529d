/**
 * `node kill-after.mjs <command…>`: runs a command, and with KILLED_AFTER_MS kills it after so many milliseconds, with all that
 * it started; ends as it ended.
 */

import { spawn } from 'node:child_process'

const [, , program, ...args] = process.argv
const lifeMs = process.env.KILLED_AFTER_MS
// A process group of its own.
const child = spawn(program, args, { stdio: 'inherit', detached: true })
if (lifeMs !== undefined)
  setTimeout(() => process.kill(-Number(child.pid), 'SIGKILL'), Number(lifeMs)).unref()
child.once('exit', (code, signal) => {
  if (signal === null) process.exit(code)
  process.kill(process.pid, signal)
})
