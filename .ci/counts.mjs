// Prints the last line of .ci/run from vitest's JSON report. A test file that could not even be read counts as one failure,
// and so does a report that is missing or empty. Exits with 1 when anything failed.

import { readFileSync } from 'node:fs'

const counts = readCounts(process.argv[2])
const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
process.stdout.write(`${counts.passed} passed, ${counts.failed} failed${skipped}\n`)
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0

function readCounts(path) {
  try {
    const report = JSON.parse(readFileSync(path, 'utf8'))
    const unread = report.testResults.filter(
      (file) => file.status === 'failed' && !file.assertionResults.some(isFailure),
    )
    return {
      passed: report.numPassedTests,
      failed: report.numFailedTests + unread.length,
      skipped: report.numPendingTests + report.numTodoTests,
    }
  } catch {
    return { passed: 0, failed: 1, skipped: 0 }
  }
}

function isFailure({ status }) {
  return status === 'failed'
}
