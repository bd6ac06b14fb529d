/**
 * A PostgreSQL server for a test: Debian's, in its own folder, on loopback. Other clusters of the machine are never
 * touched.
 */

import { spawnSync, type SpawnSyncOptions } from 'node:child_process'
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const BIN = '/usr/lib/postgresql'
const bin = existsSync(BIN) ? join(BIN, readdirSync(BIN).at(-1) ?? '', 'bin') : ''

/** Whether a server is installed; there may be only a client. */
export const hasPostgres = existsSync(join(bin, 'initdb'))

export const PASSWORD = 'loopback-secret'

export interface Server {
  readonly port: number
  /** The folder of its socket, which needs no password. */
  readonly folder: string
  /** Includes the password. */
  readonly url: string
  /** Runs SQL as its owner and returns what psql prints, unaligned. */
  ask(sql: string): string
  psql(
    args: readonly string[],
    cwd: string,
  ): { status: number | null; stdout: string; stderr: string }
  stop(): void
  start(): void
}

/**
 * Starts a server; `stop` ends it and removes its folder with `remove`. Only the owner of its files may run it, but not
 * root.
 */
export async function startPostgres(): Promise<Server & { remove(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-postgres-'))
  const data = join(folder, 'data')
  const passwords = join(folder, 'password')
  mkdirSync(data)
  writeFileSync(passwords, PASSWORD)
  const isRoot = process.getuid?.() === 0
  const idOf = (flag: string) => Number(spawnSync('id', [flag, 'postgres']).stdout)
  const owner = isRoot ? { uid: idOf('-u'), gid: idOf('-g') } : {}
  if (owner.uid !== undefined) {
    for (const path of [folder, data, passwords]) chownSync(path, owner.uid, owner.gid)
  }
  const as: SpawnSyncOptions = { cwd: folder, ...owner, stdio: 'ignore' }
  const call = (name: string, ...args: readonly string[]) => {
    const { status } = spawnSync(join(bin, name), args, as)
    if (status !== 0) throw new Error(`${name} ended with ${status}`)
  }
  const ways = ['-A', 'scram-sha-256', '--auth-local=trust', `--pwfile=${passwords}`]
  call('initdb', '-D', data, '-U', 'tester', ...ways, '--no-sync', '-E', 'UTF8', '--locale=C')
  const port = await freePort()
  const options = `-k ${folder} -p ${port} -c listen_addresses=127.0.0.1 -c fsync=off`
  const isUp = () => existsSync(join(data, 'postmaster.pid'))
  const start = () => {
    if (!isUp()) call('pg_ctl', 'start', '-w', '-D', data, '-o', options)
  }
  const stop = () => call('pg_ctl', 'stop', '-w', '-m', 'immediate', '-D', data)
  start()
  const psql = (args: readonly string[], cwd: string) => {
    const where = ['-X', '-q', '-h', folder, '-p', `${port}`, '-U', 'tester', 'postgres']
    return spawnSync('psql', [...where, ...args], { cwd, encoding: 'utf8' })
  }
  return {
    port,
    folder,
    url: `postgres://tester:${PASSWORD}@127.0.0.1:${port}/postgres`,
    psql,
    ask: (sql) => {
      const { status, stdout, stderr } = psql(['-At', '-v', 'ON_ERROR_STOP=1', '-c', sql], folder)
      if (status !== 0) throw new Error(stderr)
      return stdout.trim()
    },
    start,
    stop,
    remove: () => {
      if (isUp()) stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function freePort(): Promise<number> {
  return new Promise((found) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' ? (address?.port ?? 0) : 0
      server.close(() => found(port))
    })
  })
}
