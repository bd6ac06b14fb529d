import { describe, expect, it } from 'vitest'
import { PublishError } from '../../../src/publish/errors.ts'
import { deletedPositions, deletionVectorOf } from '../../../src/publish/delta/deletion-vector.ts'

// From the tests of delta-kernel-rs. The example in the protocol's text has the magic number of an older layout, with which
// delta-kernel-rs reads nothing either.
const INLINE = {
  storageType: 'i',
  pathOrInlineDv: '^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L',
  sizeInBytes: 44,
  cardinality: 6,
}
const OF_THE_TEXT = 'wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L'

describe('a deletion vector', () => {
  it('of 6 rows is written and read as delta-kernel-rs has it', () => {
    const rows = [3, 4, 7, 11, 18, 29]
    expect(deletionVectorOf(rows)).toEqual(INLINE)
    expect(deletedPositions(INLINE, 'x')).toEqual(rows)
  })

  it('in a file, of another number of rows, or damaged is refused with the name of its file', () => {
    const wrong = [
      { ...INLINE, storageType: 'u' },
      { ...INLINE, cardinality: 7 },
      { ...INLINE, sizeInBytes: 45 },
      { ...INLINE, pathOrInlineDv: 'x' },
      { ...INLINE, pathOrInlineDv: OF_THE_TEXT, sizeInBytes: 40 },
    ]
    for (const vector of wrong) {
      expect(() => deletedPositions(vector, 'tables/t/x.parquet')).toThrow(PublishError)
      expect(() => deletedPositions(vector, 'tables/t/x.parquet')).toThrow(/tables\/t\/x\.parquet/)
    }
  })
})
