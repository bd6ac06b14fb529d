/**
 * Builds the models of a million events with Spark, and prints the seconds that the job reports in total and for its
 * slowest models; several are built at once. JOBTIDE_BENCH_EVENTS sets another number; JOBTIDE_BENCH_LARGEST is the
 * additional share of all stints in the largest organisation, 0 to 1. JOBTIDE_SPARK_PYTHON names a Python with PySpark.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { HOUR } from '../../src/support/units.ts'
import { environmentOf, findPython, submitCommand } from '../spark/python.ts'
import { command, printSlowest, writeJournal } from './command.ts'
import { writeBackfill } from './made-journal.ts'

const EVENTS = Number(process.env['JOBTIDE_BENCH_EVENTS'] ?? 1_000_000)
const LARGEST = Number(process.env['JOBTIDE_BENCH_LARGEST'] ?? 0)
const SIZE = { people: EVENTS / 4, organizations: EVENTS / 250, largest: LARGEST }
const { python } = findPython()

/** A pipeline whose snapshots Spark builds. */
function pipelineIn(folder: string): string {
  const path = join(folder, 'spark.yaml')
  writeFileSync(join(folder, 'organizations.csv'), 'id\norg_1\n')
  writeFileSync(
    path,
    [
      'name: spark',
      'organizations: organizations.csv',
      'window: all',
      'snapshot: { to: ../lake }',
      `build: {engine: spark, submit: ${JSON.stringify(submitCommand(python ?? '', true))}}`,
      '',
    ].join('\n'),
  )
  return path
}

it.skipIf(python === null)(
  `builds ${EVENTS} events with Spark`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'jobtide-bench-'))
    const pipeline = pipelineIn(folder)
    try {
      await writeJournal(folder, (to) => writeBackfill(to, SIZE))
      await command('load', folder, ['load'])
      await command('build', folder, ['build'])
      const args = ['publish', '--pipeline', pipeline, '--log-level', 'debug']
      await command('Spark', folder, args, environmentOf(python ?? ''))
      const log = readFileSync(join(folder, 'stderr.txt'), 'utf8')
      const ended = /"seconds":(\{[^}]*\})/.exec(log)?.[1]
      expect(ended).toBeDefined()
      process.stdout.write(`    of that, by the job: ${ended}\n`)
      const lines = [...log.matchAll(/"line":"(\w+): ([\d.]+) s"/g)]
      const models = lines.map(([, name = '', seconds]) => ({ name, seconds: Number(seconds) }))
      expect(models.length).toBeGreaterThan(50)
      printSlowest(models)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
  3 * HOUR,
)
