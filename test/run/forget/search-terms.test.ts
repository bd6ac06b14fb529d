import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SearchTerms } from '../../../src/run/forget/search.ts'
import { memoryWarehouse } from '../../helpers/warehouse.ts'

// Few characters, so that texts overlap, repeat and contain one another; some have a meaning in patterns.
const aText = (minLength: number, maxLength: number) =>
  fc
    .array(fc.constantFrom('a', 'b', 'é', '.', '*', '\\', '(', '|', '"'), { minLength, maxLength })
    .map((characters) => characters.join(''))
const someTexts = fc.array(aText(3, 6), { minLength: 1, maxLength: 40 })

it('finds in bytes, and by patterns in the engine, the same as a search for each text', async () => {
  const warehouse = await memoryWarehouse({ threads: 1 })
  const property = fc.asyncProperty(someTexts, aText(0, 30), async (texts, place) => {
    const terms = new SearchTerms(texts)
    const isThere = texts.some((text) => place.includes(text))
    expect(terms.areIn(Buffer.from(place))).toBe(isThere)
    const matches = terms.patterns.map((pattern) =>
      warehouse.number('select regexp_matches($1, $2)::int', [place, pattern]),
    )
    expect((await Promise.all(matches)).includes(1)).toBe(isThere)
  })
  await fc.assert(property, { numRuns: 300, endOnFailure: true })
  warehouse.close()
})

it('splits 10,000 texts into patterns of at most 16,384 characters, including the last text', async () => {
  const texts = Array.from({ length: 10_000 }, (_, nth) => `per_${String(nth).padStart(16, '0')}`)
  const terms = new SearchTerms(texts)
  expect(terms.patterns.length).toBeGreaterThan(10)
  expect(Math.max(...terms.patterns.map(({ length }) => length))).toBeLessThanOrEqual(16_384)
  expect(terms.areIn(Buffer.from(`… ${texts[9_999]} …`))).toBe(true)
  expect(terms.areIn(Buffer.from(`… ${texts[9_999]?.slice(0, -1)} …`))).toBe(false)
})
