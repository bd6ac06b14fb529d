/** Nights whose models Spark builds: every table is the one that DuckDB builds from the same rows. */

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readCurrent } from '../../src/publish/read-snapshot.ts'
import { openFolderStore } from '../../src/publish/store/folder-store.ts'
import { packageRoot } from '../../src/support/assets.ts'
import { realClock } from '../../src/support/clock.ts'
import { DAY, MINUTE } from '../../src/support/units.ts'
import { done, openSite } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { differences } from './compare.ts'
import { environmentOf, findPython, submitCommand } from './python.ts'

const { python, why } = findPython()

async function manifestAt(folder: string) {
  const current = await readCurrent(openFolderStore(folder, realClock))
  if (current === null) throw new Error(`nothing is published at ${folder}`)
  return current.manifest
}

describe.skipIf(python === null)(`models that Spark builds ${why && `(skipped: ${why})`}`, () => {
  it('are built by a package whose own tests pass', () => {
    const args = ['-m', 'unittest', 'discover', '-s', 'tests', '-t', '.']
    execFileSync(python ?? '', args, { cwd: join(packageRoot, 'spark'), stdio: 'pipe' })
  })

  it(
    'are those of DuckDB after a backfill and five nights',
    { timeout: 120 * MINUTE },
    async () => {
      const submit = JSON.stringify(submitCommand(python ?? ''))
      const site = await openSite({
        companies: 12,
        events: 4_000,
        pipelineLines: [`build: {engine: spark, submit: ${submit}}`],
      })
      const env = environmentOf(python ?? '')
      const [ofSpark, ofDuckDb] = [temporaryFolder(), temporaryFolder()].map((folder) =>
        join(folder, 'lake'),
      )
      for (let night = 0; night <= 5; night += 1) {
        const days = ['--days', night === 0 ? '365' : '30']
        done(
          await site.run(['run', site.pipeline, ...days, '--snapshot-to', ofSpark ?? ''], { env }),
        )
        done(await site.run(['build']))
        done(
          await site.run([
            'publish',
            '--engine',
            'duckdb',
            '--pipeline',
            site.pipeline,
            '--snapshot-to',
            ofDuckDb ?? '',
          ]),
        )
        const [built, wanted] = [await manifestAt(ofSpark ?? ''), await manifestAt(ofDuckDb ?? '')]
        expect(built.spark?.version).toMatch(/^4\./)
        expect(await differences(built, wanted)).toEqual([])
        site.advance(DAY)
      }
    },
  )
})
