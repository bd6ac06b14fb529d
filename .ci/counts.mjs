// Prints the last line of .ci/run from vitest's JSON reports in a folder, one for each tier. A test file that could not even
// be read counts as one failure, and so does a folder without reports or an empty report. Exits with 1 when anything failed.

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const [folder, tiers] = process.argv.slice(2)
const counts = countAll()
const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
process.stdout.write(`${counts.passed} passed, ${counts.failed} failed${skipped}\n`)
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0

function countAll() {
  try {
    const reports = readdirSync(folder).map((name) => countsOf(join(folder, name)))
    const sum = (key) => reports.reduce((total, one) => total + one[key], 0)
    const missing = Math.max(0, Number(tiers) - reports.length)
    return { passed: sum('passed'), failed: sum('failed') + missing, skipped: sum('skipped') }
  } catch {
    return { passed: 0, failed: 1, skipped: 0 }
  }
}

function countsOf(path) {
  const report = JSON.parse(readFileSync(path, 'utf8'))
  const unread = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some(isFailure),
  )
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + unread.length,
    skipped: report.numPendingTests + report.numTodoTests,
  }
}

function isFailure({ status }) {
  return status === 'failed'
}
