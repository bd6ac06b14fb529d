/**
 * SIGKILL at any moment of a backup and of a restore: the backup always holds a whole earlier state of the journal. On
 * S3 it is on the server of these tests, or on a real one named by JOBTIDE_TEST_S3_ENDPOINT and related variables.
 */

import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { DAY } from '../../../src/support/units.ts'
import { done, openSite, type RunningCli } from '../../helpers/run-cli.ts'
import { realBucket, realServer } from '../../helpers/s3-client.ts'
import { startS3Server } from '../../helpers/s3-server.ts'
import { rounds } from '../../helpers/tier.ts'

const KILLS = rounds('JOBTIDE_KILLS', 5, 20)
const HAS_REAL_SERVER = realServer('ENDPOINT') !== ''
/** One in this many restores is not killed again, and its warehouse is built, which takes longer than all the rest. */
const WHOLE_EVERY = 10

interface Status {
  readonly credits: number
  readonly credits_in_doubt: number
  readonly backups: readonly { segments: number; missing: number; problem: string | null }[]
}

async function bucketAndEnv() {
  const server = HAS_REAL_SERVER ? null : await startS3Server()
  onTestFinished(() => server?.close())
  const { bucket, endpoint, region, accessKeyId, secretAccessKey } = server ?? (await realBucket())
  const env = {
    JOBTIDE_S3_ENDPOINT: endpoint,
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_EC2_METADATA_DISABLED: 'true',
  }
  return { place: `s3://${bucket}/lake/journal`, env }
}

/** When to kill: earlier if processes had finished by then, later if not, so that a busy machine does not matter. */
class Moments {
  #mostMs = 1_500
  killed = 0

  next(): number {
    return Math.random() * this.#mostMs
  }

  note(wasKilled: boolean): void {
    this.#mostMs *= wasKilled ? 1.1 : 0.8
    if (wasKilled) this.killed += 1
  }
}

/**
 * Kills a process this many milliseconds after `begins`, unless it is `over` before.
 * @returns whether that killed it
 */
async function killAfter(
  { process: child, ended }: RunningCli,
  ms: number,
  over = () => false,
): Promise<boolean> {
  const until = performance.now() + ms
  let hasEnded = false
  const end = ended.finally(() => {
    hasEnded = true
  })
  while (!hasEnded && performance.now() < until && !over()) await pause(2)
  const isOver = over()
  child.kill('SIGKILL')
  return (await end).signal !== null && !isOver
}

it.each(HAS_REAL_SERVER ? ['S3'] : ['a folder', 'S3'])(
  `${KILLS} kills while backing up to %s and while restoring: each backup restores to a whole state, and none forgets what an earlier one knew`,
  async (where) => {
    const isS3 = where === 'S3'
    const { place: inBucket, env } = isS3 ? await bucketAndEnv() : { place: '../backup', env: {} }
    const pipelineLines = [`journal: { backup: "${inBucket}" }`]
    const site = await openSite({ companies: 6, pipelineLines })
    const place = isS3 ? inBucket : join(site.folder, 'backup')
    const extract = ['extract', site.pipeline]
    const run = (args: readonly string[]) => site.run(args, { env })
    done(await run(extract))
    const [backups, restores] = [new Moments(), new Moments()]
    const figures = { kills: 0, midRestore: 0, whole: 0, newer: 0 }
    let known = 0
    while (backups.killed < KILLS || restores.killed < KILLS) {
      site.advance(DAY)
      // Starts after the answers of the service, which come first and take longest.
      backups.note(await killAfter(site.start(extract, { env }), 300 + backups.next()))

      // Restores the current backup elsewhere, and kills that restore until the journal is there.
      const [copy, dataDir] = [join(site.folder, 'copy'), join(site.folder, 'restored')]
      for (const folder of [copy, dataDir]) rmSync(folder, { recursive: true, force: true })
      if (!isS3) cpSync(place, copy, { recursive: true })
      const there = ['--data-dir', dataDir]
      const restore = ['restore-journal', isS3 ? place : copy, ...there]
      const isThere = () => existsSync(join(dataDir, 'journal'))
      restores.note(await killAfter(site.start(restore, { env }), 200 + restores.next(), isThere))
      if (existsSync(join(dataDir, 'journal.restoring'))) figures.midRestore += 1
      figures.kills += 1
      if (figures.kills % WHOLE_EVERY === 0) {
        figures.whole += 1
        done(await run(isThere() ? ['replay', ...there] : restore))
      } else if (!isThere()) {
        await killAfter(site.start(restore, { env }), 60_000, isThere)
      }
      done(await run(['verify', ...there]))
      const { stdout } = await run(['status', '--json', ...there])
      const { credits: all, credits_in_doubt: inDoubt } = JSON.parse(stdout) as Status
      // A request that was killed on its way may not have reached the service.
      const credits = all - inDoubt
      expect(credits).toBeGreaterThanOrEqual(known)
      if (credits > known) figures.newer += 1
      known = credits
      expect(known).toBeLessThanOrEqual(site.simulator.account().credits)
    }
    const { killed: killedBackups } = backups
    const { killed: killedRestores } = restores
    process.stdout.write(
      `${where}: ${JSON.stringify({ killedBackups, killedRestores, ...figures })}\n`,
    )
    // Some kills come after it has begun; of a few kills none may come in the middle.
    expect(figures.newer).toBeGreaterThan(0)
    if (KILLS >= 20) expect(figures.midRestore).toBeGreaterThan(0)
    done(await run(extract))
    const segments = readdirSync(join(site.dataDir, 'journal')).filter((name) =>
      name.endsWith('.journal'),
    ).length
    const { stdout } = await run(['status', '--json'])
    expect((JSON.parse(stdout) as Status).backups).toEqual([
      expect.objectContaining({ segments, missing: 0, problem: null }),
    ])
    done(await run(['verify']))
  },
  KILLS * 120_000,
)
