/** SIGKILL at any moment of a backup and of a restore: what a place holds is always a whole earlier state of the journal. */

import { cpSync, existsSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { DAY } from '../../../src/support/units.ts'
import { done, openSite } from '../../helpers/run-cli.ts'

const KILLS = Number(process.env['JOBTIDE_KILLS'] ?? 40)

interface Status {
  readonly credits: number
}

it(
  `${KILLS} kills while backing up and while restoring: each backup restores to a whole state, and none forgets what an earlier one knew`,
  async () => {
    const site = await openSite({
      companies: 6,
      pipelineLines: ['journal: { backup: ../backup }'],
    })
    const place = join(site.folder, 'backup')
    const extract = ['extract', site.pipeline]
    done(await site.run(extract))
    let known = 0
    let killedBackups = 0
    let killedRestores = 0
    for (let kill = 0; kill < KILLS; kill += 1) {
      site.advance(DAY)
      const extraction = site.start(extract)
      await pause(400 + Math.random() * 800)
      extraction.process.kill('SIGKILL')
      if ((await extraction.ended).signal !== null) killedBackups += 1

      // What lies there now, restored somewhere else, and that restore killed as well.
      const copy = join(site.folder, 'copy')
      const dataDir = join(site.folder, 'restored')
      for (const folder of [copy, dataDir]) rmSync(folder, { recursive: true, force: true })
      cpSync(place, copy, { recursive: true })
      const restore = ['restore-journal', copy, '--data-dir', dataDir]
      const restoring = site.start(restore)
      await pause(400 + Math.random() * 1_500)
      restoring.process.kill('SIGKILL')
      if ((await restoring.ended).signal !== null) killedRestores += 1
      const isWhole = existsSync(join(dataDir, 'journal'))
      if (isWhole) done(await site.run(['replay', '--data-dir', dataDir]))
      else done(await site.run(restore))
      done(await site.run(['verify', '--data-dir', dataDir]))
      const { stdout } = done(await site.run(['status', '--json', '--data-dir', dataDir]))
      const { credits } = JSON.parse(stdout) as Status
      expect(credits).toBeGreaterThanOrEqual(known)
      known = credits
      expect(known).toBeLessThanOrEqual(site.simulator.account().credits)
    }
    expect(killedBackups).toBeGreaterThan(KILLS / 4)
    expect(killedRestores).toBeGreaterThan(KILLS / 4)
    done(await site.run(extract))
    const listed = JSON.parse(readFileSync(join(place, 'backup.json'), 'utf8')) as {
      segments: object[]
    }
    expect(
      readdirSync(join(site.dataDir, 'journal')).filter((n) => n.endsWith('.journal')),
    ).toHaveLength(listed.segments.length)
  },
  KILLS * 60_000,
)
