import { describe, expect, it } from 'vitest'
import { halve, partOf } from '../../src/extract/split.ts'
import { slicesOf } from './extract-fixture.ts'

const sliceOf = (count: number) => ({
  ...slicesOf(Array.from({ length: count }, (_, i) => `o${i}`))[0]!,
  days_ago: 9,
  expected_pages: 12,
})

describe('halve', () => {
  it.each([
    [2, [1, 1]],
    [3, [2, 1]],
    [50, [25, 25]],
  ])('%i organisations become %j, none lost, window and types kept', (count, sizes) => {
    const slice = sliceOf(count)
    const halves = halve(slice)
    expect(halves.map(({ organizations }) => organizations.length)).toEqual(sizes)
    expect(halves.flatMap(({ organizations }) => organizations)).toEqual(slice.organizations)
    expect(halves.map(({ slice_id }) => slice_id)).toEqual(['0001.1', '0001.2'])
    expect(halves.every(({ days_ago }) => days_ago === 9)).toBe(true)
  })
})

describe('partOf', () => {
  it('names the part after the slice, and expects no pages of it', () => {
    const slice = sliceOf(3)
    expect(partOf(slice, 7, slice.organizations.slice(1))).toEqual({
      slice_id: '0001.7',
      organizations: slice.organizations.slice(1),
      days_ago: 9,
      event_types: slice.event_types,
    })
  })
})
