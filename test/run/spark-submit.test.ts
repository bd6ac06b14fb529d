/** How the job of a Spark build is started, and the meaning of its exit code. */

import { describe, expect, it } from 'vitest'
import { sparkBuildOf } from '../../src/run/job.ts'
import { submitJob } from '../../src/run/spark-publish.ts'
import { silentLogger } from '../../src/support/logger.ts'

const world = {
  environment: { JOBTIDE_API_KEY: 'a secret', SHOWN: 'shown' },
  logger: silentLogger,
  stop: new AbortController().signal,
}
const submitted = (script: string) =>
  submitJob(
    { submit: [process.execPath, '-e', script, '{job}'], address: null },
    'file:///x',
    world,
  )

describe('the command', () => {
  it('gets the address of the job in place of {job}, or at its end', async () => {
    const says = (arguments_: readonly string[]) =>
      submitJob(
        {
          submit: [process.execPath, '-e', 'throw process.argv.slice(1).join()', ...arguments_],
          address: null,
        },
        's3a://b/job.json',
        world,
      )
    await expect(says(['["{job}"]'])).rejects.toThrow('["s3a://b/job.json"]')
    await expect(says(['job.py'])).rejects.toThrow('job.py,s3a://b/job.json')
  })

  it('comes from the pipeline unless the command line names DuckDB', () => {
    const build = { engine: 'spark' as const, submit: ['spark-submit'] }
    expect(sparkBuildOf(build, undefined)).toEqual({ submit: ['spark-submit'], address: null })
    expect(sparkBuildOf(build, 'duckdb')).toBeUndefined()
    expect(sparkBuildOf(undefined, undefined)).toBeUndefined()
    expect(() => sparkBuildOf(undefined, 'spark')).toThrow(
      /does not say how a Spark job is started/,
    )
  })

  it('succeeds with exit 0, and gets no key of ours', async () => {
    const keys =
      "process.exit('JOBTIDE_API_KEY' in process.env || process.env.SHOWN !== 'shown' ? 1 : 0)"
    await expect(submitted(keys)).resolves.toBeUndefined()
  })

  it('fails with any other code, and its last lines are shown', async () => {
    const failed = submitted("console.error('out of memory'); process.exit(3)")
    await expect(failed).rejects.toThrow('the Spark job ended with 3: out of memory')
  })

  it('that is missing is reported by name', async () => {
    const started = submitJob({ submit: ['no-such-program'], address: null }, 'file:///x', world)
    await expect(started).rejects.toThrow(/no-such-program cannot be started/)
  })
})
