import { describe, expect, it } from 'vitest'
import { partOf } from '../../src/extract/split.ts'
import { batchesOf } from './extract-fixture.ts'

const batchOf = (count: number) => ({
  ...batchesOf(Array.from({ length: count }, (_, i) => `o${i}`))[0]!,
  days_ago: 9,
  expected_pages: 12,
})

describe('partOf', () => {
  it('names the part after the batch, and expects its share of the pages', () => {
    const batch = batchOf(3)
    expect(partOf(batch, 7, batch.organizations.slice(1))).toEqual({
      batch_id: '0001.7',
      organizations: batch.organizations.slice(1),
      days_ago: 9,
      event_types: batch.event_types,
      expected_pages: 8,
    })
  })
})
