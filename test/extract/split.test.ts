import { describe, expect, it } from 'vitest'
import { halve, partOf } from '../../src/extract/split.ts'
import { batchesOf } from './extract-fixture.ts'

const batchOf = (count: number) => ({
  ...batchesOf(Array.from({ length: count }, (_, i) => `o${i}`))[0]!,
  days_ago: 9,
  expected_pages: 12,
})

describe('halve', () => {
  it.each([
    [2, [1, 1]],
    [3, [2, 1]],
    [50, [25, 25]],
  ])('%i organisations become %j, none lost, window and types kept', (count, sizes) => {
    const batch = batchOf(count)
    const halves = halve(batch)
    expect(halves.map(({ organizations }) => organizations.length)).toEqual(sizes)
    expect(halves.flatMap(({ organizations }) => organizations)).toEqual(batch.organizations)
    expect(halves.map(({ batch_id }) => batch_id)).toEqual(['0001.1', '0001.2'])
    expect(halves.every(({ days_ago }) => days_ago === 9)).toBe(true)
  })
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
