/**
 * Everything from outside is read, or refused with one of our own errors, within a second, and never misread: answers
 * of the service, the journal's bytes, manifests, pipeline files, lists, titles. An input that fails is written to
 * corpus/, and every later run of the tests reads it again. JOBTIDE_FUZZ says how many inputs, JOBTIDE_FUZZ_SEED which.
 */

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as otherWork } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mixSeeds, seededRandom } from '../../src/simulator/random.ts'
import { rounds, seedOf } from '../helpers/tier.ts'
import { mutated } from './mutate.ts'
import type { Target } from './target.ts'
import { openTargets } from './targets.ts'
import { watch } from './watchdog.ts'

const INPUTS = rounds('JOBTIDE_FUZZ', 1_000, 500_000)
const SEED = seedOf('JOBTIDE_FUZZ_SEED')
const LONGEST_MS = 1_000
const FOLDER = join(import.meta.dirname, 'corpus')

const watchdog = watch()
let targets: Awaited<ReturnType<typeof openTargets>>
beforeAll(async () => {
  targets = await openTargets()
})
afterAll(async () => {
  await targets.close()
  await watchdog.end()
})

const pathOf = (name: string, input: Buffer) =>
  join(FOLDER, name, createHash('sha256').update(input).digest('hex').slice(0, 16))

/** The inputs that were once read wrongly. */
function kept(name: string): Buffer[] {
  const folder = join(FOLDER, name)
  if (!existsSync(folder)) return []
  return readdirSync(folder).map((file) => readFileSync(join(folder, file)))
}

/** Why an input is misread; null if it is not. */
async function faultOf(target: Target, input: Buffer): Promise<string | null> {
  const before = process.cpuUsage()
  watchdog.begin(input, pathOf(target.name, input))
  try {
    await target.check(input)
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  } finally {
    watchdog.rest()
  }
  // CPU time, because the machine may have other work.
  const { user, system } = process.cpuUsage(before)
  const tookMs = (user + system) / 1_000
  return tookMs > LONGEST_MS ? `took ${Math.round(tookMs)} ms` : null
}

/** Like `faultOf`, but a slow reading is repeated and the quickest of three counts, because of garbage collection. */
async function provenFaultOf(target: Target, input: Buffer): Promise<string | null> {
  let fault = await faultOf(target, input)
  for (let again = 0; again < 2 && fault?.startsWith('took ') === true; again += 1) {
    fault = await faultOf(target, input)
  }
  return fault
}

describe.each(['answers', 'journal', 'seals', 'manifests', 'pipelines', 'lists', 'titles'])(
  '%s',
  (name) => {
    it('that were once misread are read correctly', async () => {
      const target = targets.of(name)
      for (const input of [...target.corpus, ...kept(name)]) {
        expect(await provenFaultOf(target, input), pathOf(name, input)).toBeNull()
      }
    })

    it(`that are corrupted at random (of ${INPUTS} inputs in all) are read or refused within a second`, async () => {
      const target = targets.of(name)
      const random = seededRandom(mixSeeds(SEED, ...Buffer.from(name)))
      const corpus = [...target.corpus, ...kept(name)]
      const inputs = Math.ceil(INPUTS * target.share)
      for (let nth = 0; nth < inputs; nth += 1) {
        const input = mutated(random, corpus, target.dictionary)
        const fault = await provenFaultOf(target, input)
        if (fault !== null) {
          const path = pathOf(name, input)
          mkdirSync(join(FOLDER, name), { recursive: true })
          writeFileSync(path, input)
          throw new Error(`seed ${SEED}, input ${nth}, kept as ${path}: ${fault}`)
        }
        // Lets the test runner respond.
        if (nth % 200 === 0) await otherWork()
      }
      process.stdout.write(`fuzz: ${inputs} ${name}, seed ${SEED}\n`)
    }, 1_800_000)
  },
)
