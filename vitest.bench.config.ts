import { defineConfig } from 'vitest/config'

// Benchmarks print figures, one file after another so that they do not disturb each other; they never run in CI.
export default defineConfig({
  test: {
    include: ['test/bench/**/*.bench.ts'],
    testTimeout: 1_200_000,
    hookTimeout: 600_000,
    fileParallelism: false,
    disableConsoleIntercept: true,
  },
})
