import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { dataDirectory } from '../../src/run/data-directory.ts'
import { buildStage, loadStage, type RunProgress } from '../../src/run/stages.ts'
import { realClock } from '../../src/support/clock.ts'
import { EXIT, JobtideError } from '../../src/support/errors.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { insertEvents, memoryWarehouse } from '../helpers/warehouse.ts'
import { aPage, journalOfPages, wireEvent } from '../load/load-fixture.ts'
import { NOW, manyEvents, simulate } from '../simulator/simulator-fixture.ts'
import { jobOver, nightsOf } from './nights-fixture.ts'

const reason = new JobtideError(EXIT.terminated, 'stopped by SIGTERM')

/** A world whose stop comes after `steps` steps of progress. */
function stopAfter(steps: number) {
  const stop = new AbortController()
  const seen: RunProgress[] = []
  return {
    seen,
    directory: dataDirectory(temporaryFolder()),
    clock: realClock,
    stop: stop.signal,
    onProgress(progress: RunProgress) {
      seen.push(progress)
      if (seen.length === steps) stop.abort(reason)
    },
  }
}

describe('build', () => {
  it('writes the macros for analysts, and again if the file is gone', async () => {
    const warehouse = await memoryWarehouse()
    const world = stopAfter(Number.POSITIVE_INFINITY)
    const { asKnownOn: path } = world.directory
    const built = async () => {
      await buildStage(warehouse, world)
      const { ino } = statSync(path)
      return { ino, text: readFileSync(path, 'utf8') }
    }
    const first = await built()
    expect(first.text).toContain('temp macro joiners_as_known_on(')
    expect(await built()).toEqual(first)
    rmSync(path)
    expect((await built()).text).toBe(first.text)
    warehouse.close()
  })
})

describe('a stage that is asked to stop', () => {
  it('build stops within 1 step of 3, and readers keep the tables of the last build', async () => {
    const warehouse = await memoryWarehouse()
    await insertEvents(warehouse, [{ profile_id: 'person_1' }])
    await buildStage(warehouse, stopAfter(Number.POSITIVE_INFINITY))
    await insertEvents(warehouse, [{ profile_id: 'person_2' }])

    const world = stopAfter(3)
    await expect(buildStage(warehouse, world)).rejects.toBe(reason)
    expect(world.seen).toHaveLength(3)
    expect(await warehouse.all('select profile_id from joiners')).toEqual([
      { profile_id: 'person_1' },
    ])
    warehouse.close()
  })

  it('load stops after the merged batch, and the next load ends as if it had never stopped', async () => {
    const pages = ['per_1', 'per_2'].map((person) => aPage([wireEvent(), wireEvent({ person })]))
    const journal = await journalOfPages(
      temporaryFolder(),
      pages.map((page) => [page]),
    )
    const events = 'select event_key, times_seen from job_change_events order by 1'

    const whole = await memoryWarehouse()
    await loadStage(whole, journal, stopAfter(Number.POSITIVE_INFINITY))
    const stopped = await memoryWarehouse()
    await expect(loadStage(stopped, journal, stopAfter(1))).rejects.toBe(reason)
    await loadStage(stopped, journal, stopAfter(Number.POSITIVE_INFINITY))
    expect(await stopped.all(events)).toEqual(await whole.all(events))
    whole.close()
    stopped.close()
  })
})

describe('run', () => {
  it('loads the databases of a pipeline that publishes no snapshot', async () => {
    const simulator = await simulate(manyEvents(3, { detectedDaysAgo: 3 }))
    const databases = [{ to: 'postgres://127.0.0.1:1/closed', schema: 'jobtide' }]
    const nights = nightsOf(simulator, { ...jobOver(['org_a']), databases })
    const { publish, databases: ended } = await nights.night(NOW, { command: 'run' })
    expect(publish).toBe(null)
    expect(ended).toMatchObject([{ schema: 'jobtide', problem: { exitCode: EXIT.publishFailed } }])
  })

  it('backs the journal up to every place, even if the first one is out of reach', async () => {
    const simulator = await simulate(manyEvents(3, { detectedDaysAgo: 3 }))
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'file'), '')
    const places = [join(folder, 'file', 'backup'), join(folder, 'backup')]
    const backups = places.map((place) => ({ place, s3: {} }))
    const nights = nightsOf(simulator, { ...jobOver(['org_a']), backups })
    const { stageFailure } = await nights.night(NOW)
    expect(stageFailure?.message).toContain(places[0])
    expect(existsSync(join(folder, 'backup', 'backup.json'))).toBe(true)
  })
})
