import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readEventsFile } from '../../src/simulator/events.ts'
import { IS_SOAK } from '../helpers/tier.ts'
import { buyAll } from './extract-fixture.ts'

const FILE = resolve(import.meta.dirname, '../../../shared/cases/repeated-keys.ndjson.gz')

describe('29,822 real events of 15 organisations, 7 % of them with a repeated key,', () => {
  it('cost 597 pages with any number of workers (skipped without ../shared/cases)', async (context) => {
    if (!existsSync(FILE)) context.skip('../shared/cases is absent')
    const source = readEventsFile(FILE)
    for (const workers of IS_SOAK ? [1, 2, 4, 8] : [8])
      expect(await buyAll(source, 50, workers)).toBe(597)
  }, 400_000)
})
