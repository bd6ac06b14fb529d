/** Processes that find the lock file damaged at the same time. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { rounds } from '../helpers/tier.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const DAMAGES = rounds('LOCK_DAMAGES', 5, 200)
const root = join(import.meta.dirname, '../..')

// The holder creates a file that must not exist yet, and appends a byte to another one.
const WORKER = `
  import { appendFileSync, closeSync, openSync, rmSync, existsSync } from 'node:fs'
  import { acquireLock } from '${root}/dist/run/lock.js'
  import { realClock } from '${root}/dist/support/clock.js'
  const [folder] = process.argv.slice(1)
  while (!existsSync(folder + '/enough')) {
    const lock = await acquireLock(folder, { command: 'run', clock: realClock, maxWaitMs: 60000 })
    closeSync(openSync(folder + '/alone', 'wx'))
    await realClock.sleep(5 + Math.random() * 20)
    rmSync(folder + '/alone')
    appendFileSync(folder + '/turns', '.')
    await lock.release()
    await realClock.sleep(Math.random() * 20)
  }`

it(`no two of 4 processes hold a lock whose file is damaged ${DAMAGES} times, and none waits forever`, async () => {
  const folder = temporaryFolder()
  const turns = () => {
    const path = join(folder, 'turns')
    return existsSync(path) ? readFileSync(path).length : 0
  }
  const workers = Array.from({ length: 4 }, () => {
    const child = spawn('node', ['--input-type=module', '-e', WORKER, folder])
    let said = ''
    child.stderr.on('data', (text) => (said += text))
    const ended = once(child, 'exit').then(([code]) => ({ code, said }))
    return ended
  })
  for (let damage = 0; damage < DAMAGES; damage += 1) {
    const before = turns()
    await expect.poll(turns, { timeout: 60_000 }).toBeGreaterThan(before + 1)
    writeFileSync(join(folder, 'locks', 'work.duckdb'), damage % 2 === 0 ? 'damaged' : '')
  }
  const before = turns()
  await expect.poll(turns, { timeout: 60_000 }).toBeGreaterThan(before + 4)
  writeFileSync(join(folder, 'enough'), '')
  expect(await Promise.all(workers)).toEqual(Array(4).fill({ code: 0, said: '' }))
}, 600_000)
