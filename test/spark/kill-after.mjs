/**
 * `node kill-after.mjs <command…>`: runs a command and exits as it does; with KILLED_AFTER_MS kills it and its children
 * after this many milliseconds.
 */

import { spawn } from 'node:child_process'

const [, , program, ...args] = process.argv
const lifeMs = process.env.KILLED_AFTER_MS
// In its own process group.
const child = spawn(program, args, { stdio: 'inherit', detached: true })
if (lifeMs !== undefined)
  setTimeout(() => process.kill(-Number(child.pid), 'SIGKILL'), Number(lifeMs)).unref()
child.once('exit', (code, signal) => {
  if (signal === null) process.exit(code)
  process.kill(process.pid, signal)
})
