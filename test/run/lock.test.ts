/** Two tests are skipped where the system has no /proc to tell when a process began. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { acquireLock } from '../../src/run/lock.ts'
import { realClock } from '../../src/support/clock.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const hasProc = existsSync('/proc/self/stat')

type Holder = Record<string, unknown>

/** The lock file as this process writes it, with other fields. */
function heldBy(dataDir: string, fields: (mine: Holder) => Holder): void {
  const release = acquireLock(dataDir, 'run', realClock)
  const mine = JSON.parse(readFileSync(join(dataDir, 'lock'), 'utf8')) as Holder
  release()
  writeFileSync(join(dataDir, 'lock'), JSON.stringify({ ...mine, ...fields(mine) }))
}

async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['-e', ''])
  await once(child, 'exit')
  return child.pid ?? 0
}

describe('the lock of a data directory', () => {
  it('is held once, names its holder, and leaves nothing behind when it is given back', () => {
    const dataDir = join(temporaryFolder(), 'data')
    const release = acquireLock(dataDir, 'run', realClock)
    expect(() => acquireLock(dataDir, 'load', realClock)).toThrow(
      new RegExp(`data is in use by \`jobtide run\` \\(process ${process.pid} on .+, since 20`),
    )
    release()
    expect(readdirSync(dataDir)).toEqual([])
    acquireLock(dataDir, 'load', realClock)()
  })

  it('of a process that is gone is taken over', async () => {
    const dataDir = temporaryFolder()
    const pid = await deadPid()
    heldBy(dataDir, () => ({ pid }))
    const release = acquireLock(dataDir, 'run', realClock)
    expect(JSON.parse(readFileSync(join(dataDir, 'lock'), 'utf8'))).toMatchObject({
      pid: process.pid,
    })
    release()
  })

  it.runIf(hasProc)('of a living process is refused', async () => {
    const dataDir = temporaryFolder()
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    onTestFinished(() => void child.kill())
    await once(child, 'spawn')
    const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
    heldBy(dataDir, () => ({ pid: child.pid, started }))
    expect(() => acquireLock(dataDir, 'run', realClock)).toThrow(`process ${child.pid}`)
  })

  it.runIf(hasProc)('of a process whose number another process has now is taken over', () => {
    const dataDir = temporaryFolder()
    heldBy(dataDir, () => ({ started: '1' }))
    acquireLock(dataDir, 'run', realClock)()
  })

  it('from before the machine was started anew is taken over, from another host never', () => {
    const dataDir = temporaryFolder()
    heldBy(dataDir, () => ({ boot_id: 'another' }))
    acquireLock(dataDir, 'run', realClock)()
    heldBy(dataDir, () => ({ boot_id: 'another', host: 'another-host' }))
    expect(() => acquireLock(dataDir, 'run', realClock)).toThrow('on another-host')
  })

  it('that holds no JSON counts as nobody’s', () => {
    const dataDir = temporaryFolder()
    writeFileSync(join(dataDir, 'lock'), 'torn')
    acquireLock(dataDir, 'run', realClock)()
  })

  it('is not given back by a process that lost it', () => {
    const dataDir = temporaryFolder()
    const release = acquireLock(dataDir, 'run', realClock)
    writeFileSync(join(dataDir, 'lock'), JSON.stringify({ pid: 1 }))
    release()
    expect(existsSync(join(dataDir, 'lock'))).toBe(true)
  })
})
