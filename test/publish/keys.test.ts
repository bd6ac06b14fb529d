import { expect, it } from 'vitest'
import { DELETION_VECTOR_FOLDER, fileKey, knownKey } from '../../src/publish/keys.ts'
import { snapshotKeys } from '../../src/publish/manifest.ts'
import { checkpointKey, commitKey } from '../../src/publish/delta/log-files.ts'

const SHA256 = '0123456789abcdef'.repeat(4)
const ID = '01JD0000000000000000000001'

it('what we name we know again', () => {
  expect(knownKey(fileKey('joiners', 'changed_year=2024', SHA256))).toEqual({ kind: 'file' })
  expect(knownKey(fileKey('joiners', DELETION_VECTOR_FOLDER, SHA256))).toEqual({ kind: 'file' })
  const log = { kind: 'log', table: 'joiners' }
  expect(knownKey(commitKey('joiners', 7))).toEqual(log)
  expect(knownKey(checkpointKey('joiners', 10))).toEqual(log)
  const { manifest, views } = snapshotKeys(ID)
  expect(knownKey(manifest)).toEqual({ kind: 'manifest', snapshotId: ID })
  expect(knownKey(views)).toEqual({ kind: 'views', snapshotId: ID })
})

it.each([
  'latest.json',
  `tables/${SHA256}.parquet`,
  `tables/joiners/all/${SHA256.slice(1)}.parquet`,
  `tables/joiners/all/${SHA256.toUpperCase()}.parquet`,
  `tables/joiners/all/${SHA256}.parquet.bak`,
  `snapshots/${ID}/notes.txt`,
  `snapshots/${ID.toLowerCase()}/manifest.json`,
  `old/snapshots/${ID}/manifest.json`,
])('%s is of another program, or none of these', (key) => {
  expect(knownKey(key)).toBeNull()
})
