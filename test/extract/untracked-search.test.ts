import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findUntracked } from '../../src/extract/untracked-search.ts'

const FIFTY = Array.from({ length: 50 }, (_, i) => i)

interface Outcome {
  /** Requests, the refused one before the search and the last one that is accepted included. */
  readonly requests: number
  readonly untracked: readonly number[]
  readonly consistent: boolean
}

/** Searches in a service that refuses whatever names one of `bad`. */
function search(
  bad: ReadonlySet<number>,
  suspects: readonly number[] = FIFTY,
  trusted: readonly number[] = [],
): Outcome {
  const all = [...suspects, ...trusted]
  const accepts = (companies: readonly number[]) => !companies.some((company) => bad.has(company))
  const steps = findUntracked(suspects, trusted)
  let requests = 1
  let step = steps.next()
  while (step.done !== true) {
    const { value } = step
    const asked =
      value.kind === 'test'
        ? value.companies
        : all.filter((company) => !value.without.includes(company))
    if (value.kind === 'ask')
      expect(value.proven.filter((company) => !bad.has(company))).toEqual([])
    if (asked.length > 0) requests += 1
    step = steps.next(accepts(asked))
  }
  return { requests, ...step.value }
}

/** Requests more than the one that a batch without untracked companies needs. */
function extraRequests(bad: ReadonlySet<number>): number {
  const { requests, untracked, consistent } = search(bad)
  if (!consistent || untracked.length !== bad.size || untracked.some((one) => !bad.has(one))) {
    throw new Error(`found ${untracked.join()} instead of ${[...bad].join()}`)
  }
  return requests - (bad.size === FIFTY.length ? 0 : 1)
}

describe('findUntracked among 50 companies', () => {
  it('finds 1 untracked one with at most 7 requests more, wherever it stands', () => {
    expect(Math.max(...FIFTY.map((one) => extraRequests(new Set([one]))))).toBe(7)
  })

  it('finds any 2 of them (1,225 sets) with at most 13 requests more', () => {
    let most = 0
    for (const a of FIFTY) {
      for (const b of FIFTY.slice(a + 1)) most = Math.max(most, extraRequests(new Set([a, b])))
    }
    expect(most).toBe(13)
  })

  it('finds any 3 of them (19,600 sets) with at most 19 requests more', () => {
    let most = 0
    for (const a of FIFTY) {
      for (const b of FIFTY.slice(a + 1)) {
        for (const c of FIFTY.slice(b + 1)) {
          most = Math.max(most, extraRequests(new Set([a, b, c])))
        }
      }
    }
    expect(most).toBe(19)
  })

  it.each(FIFTY.map((i) => i + 1))(
    'finds %i of them with at most 6 requests for each and 1 more, in 200 sets drawn at random',
    (count) => {
      const sets = fc.shuffledSubarray(FIFTY, { minLength: count, maxLength: count })
      fc.assert(
        fc.property(sets, (bad) => extraRequests(new Set(bad)) <= 6 * count + 1),
        { numRuns: 200 },
      )
    },
  )

  it('finds 50 of 50 with 135 requests: after many bad ones it tests one by one', () => {
    expect(extraRequests(new Set(FIFTY))).toBe(135)
  })
})

describe('findUntracked among fewer', () => {
  it('keeps to ⌈log₂ m⌉ requests for the only untracked one of m, and 1 more, for m from 1 to 50', () => {
    for (let size = 1; size <= 50; size += 1) {
      const companies = FIFTY.slice(0, size)
      for (const one of companies) {
        const { requests, untracked } = search(new Set([one]), companies)
        expect(untracked).toEqual([one])
        // Alone, nothing is left to ask for.
        const extra = requests - (size === 1 ? 0 : 1)
        expect(extra).toBeLessThanOrEqual(Math.ceil(Math.log2(size)) + 1)
      }
    }
  })

  it('finds every set of 1 to 8 companies', () => {
    for (let size = 1; size <= 8; size += 1) {
      const companies = FIFTY.slice(0, size)
      for (let bits = 1; bits < 2 ** size; bits += 1) {
        const bad = new Set(companies.filter((one) => (bits >> one) % 2 === 1))
        const { untracked, consistent } = search(bad, companies)
        expect(consistent).toBe(true)
        expect(new Set(untracked)).toEqual(bad)
      }
    }
  })
})

describe('findUntracked with companies that were accepted before', () => {
  it('does not look at 40 trusted ones to find 1 of 10 others: at most 5 requests more', () => {
    for (const one of FIFTY.slice(0, 10)) {
      const { requests } = search(new Set([one]), FIFTY.slice(0, 10), FIFTY.slice(10))
      expect(requests - 1).toBeLessThanOrEqual(5)
    }
  })

  it('finds a trusted one that is tracked no more, and blames no other', () => {
    for (const one of FIFTY.slice(10)) {
      const { untracked, consistent } = search(new Set([one]), FIFTY.slice(0, 10), FIFTY.slice(10))
      expect({ untracked, consistent }).toEqual({ untracked: [one], consistent: true })
    }
  })

  it('finds any set, trusted or not, and never blames a good one', () => {
    const worlds = fc.record({
      size: fc.integer({ min: 1, max: 50 }),
      trustedFrom: fc.integer({ min: 0, max: 50 }),
      bad: fc.uniqueArray(fc.nat(49), { minLength: 1 }),
    })
    fc.assert(
      fc.property(worlds, ({ size, trustedFrom, bad }) => {
        const companies = FIFTY.slice(0, size)
        const isBad = new Set(bad.filter((one) => one < size))
        fc.pre(isBad.size > 0)
        const { untracked, consistent } = search(
          isBad,
          companies.slice(0, trustedFrom),
          companies.slice(trustedFrom),
        )
        expect(consistent).toBe(true)
        expect(new Set(untracked)).toEqual(isBad)
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('findUntracked in a service that contradicts itself', () => {
  it('ends, and blames nobody, when every test is accepted and every question refused', () => {
    const steps = findUntracked(FIFTY)
    let step = steps.next()
    let requests = 0
    while (step.done !== true) {
      requests += 1
      step = steps.next(step.value.kind === 'test')
    }
    expect(step.value).toEqual({ untracked: [], consistent: false })
    expect(requests).toBeLessThanOrEqual(8)
  })
})
