import { describe, expect, it } from 'vitest'
import {
  checkpointKey,
  commitKey,
  expiredLogFiles,
  lastCheckpointKey,
  versionsOf,
} from '../../../src/publish/delta/log-files.ts'
import { DAY } from '../../../src/support/units.ts'

const NOW = Date.UTC(2026, 10, 20, 12)

/** A log with a commit each day, the newest today, and a checkpoint at every tenth version. */
function dailyLog(versions: number) {
  const objectOf = (key: string, version: number) => {
    return { key, bytes: 1, modifiedAt: NOW - (versions - 1 - version) * DAY }
  }
  const commits = Array.from({ length: versions }, (_, v) => objectOf(commitKey('t', v), v))
  const checkpoints = Array.from({ length: versions }, (_, v) => objectOf(checkpointKey('t', v), v))
    .filter((_, version) => version > 0 && version % 10 === 0)
    .toReversed()
  return [...commits, ...checkpoints, objectOf(lastCheckpointKey('t'), versions - 1)]
}

describe('the files of a Delta log', () => {
  it('are named by 20 digits, and read back from their names', () => {
    expect(commitKey('joiners', 42)).toBe('tables/joiners/_delta_log/00000000000000000042.json')
    const keys = [commitKey('t', 11), commitKey('t', 2), checkpointKey('t', 10)]
    keys.push(
      `${commitKey('t', 3)}.tmp`,
      lastCheckpointKey('t'),
      commitKey('t', 4).replace('.', '.1.'),
    )
    expect(versionsOf(keys)).toEqual({ commits: [2, 11], checkpoints: [10] })
  })

  it('expire 20 versions before the checkpoint that 30 days of a log of 56 need', () => {
    const expired = expiredLogFiles(dailyLog(56), NOW)
    expect(versionsOf(expired)).toEqual({
      commits: Array.from({ length: 20 }, (_, version) => version),
      checkpoints: [10],
    })
    expect(expired).toHaveLength(21)
  })

  it('do not expire in a log of 30 days, of no checkpoint, or of nothing', () => {
    expect(expiredLogFiles(dailyLog(30), NOW)).toEqual([])
    const commits = dailyLog(300).filter(({ key }) => !key.includes('checkpoint.'))
    expect(expiredLogFiles(commits, NOW)).toEqual([])
    expect(expiredLogFiles([], NOW)).toEqual([])
  })
})
