import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

// Three tiers, told apart by how a file's name ends. `npm test` runs the fast one, `npm run test:all` the slow one after
// it, `npm run test:soak` all of them with the counts of a nightly job, and what only such a job has time for.
const SLOW = 'test/**/*.{db,cli}.test.ts'
const SOAK = 'test/**/*.soak.test.ts'

// A folder for JSON reports, one for each run of vitest; `.ci/run` adds them up.
const reports = process.env['JOBTIDE_TEST_REPORTS']

// Tests run on real files, a real DuckDB and real loopback servers, so a test may take seconds.
// `dist` is built before vitest starts: the tests that run the command line run what users run.
const tier = (name: string, include: string, exclude: string[] = []) => ({
  extends: true as const,
  test: { name, include: [include], exclude },
})

export default defineConfig({
  test: {
    projects: [
      tier('fast', 'test/**/*.test.ts', [SLOW, SOAK]),
      tier('slow', SLOW),
      tier('soak', SOAK),
    ],
    setupFiles: ['test/helpers/no-network.ts', 'test/helpers/property-seed.ts'],
    // In the soak tier a test makes a hundred times as many rounds, and nobody waits for it.
    testTimeout: process.env['JOBTIDE_SOAK'] === '1' ? 1_800_000 : 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    // Files of one worker share the modules they import: importing them again for each file took 40 s of `npm test`.
    isolate: false,
    env: { TZ: 'UTC' },
    reporters:
      reports === undefined
        ? ['default']
        : ['default', ['json', { outputFile: join(reports, `${process.pid}.json`) }]],
  },
})
