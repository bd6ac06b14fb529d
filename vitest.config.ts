import { defineConfig } from 'vitest/config'

// Tests run on real files, a real DuckDB and real loopback servers, so a test may take seconds.
// `dist` is built by `npm test` before vitest starts: the tests that run the command line run what users run.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/helpers/no-network.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    env: { TZ: 'UTC' },
  },
})
