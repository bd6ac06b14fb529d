/** The first sentences of a report, for each state of knowledge. */

import { describe, expect, it } from 'vitest'
import { answerOf } from '../../src/report/answer.ts'
import type { Attrition, Year } from '../../src/report/rows.ts'

const year: Year = {
  organizations: 12,
  month_on: '2026-10-01',
  months: 12,
  observed_since_on: '2022-01-01',
  is_from_beginning: false,
  first_rate_on: '2023-02-01',
  people_seen: 900,
  joined: 150,
  went: 200,
  joined_before: 190,
  went_before: 160,
  rated: 10,
  rate: 0.213,
  rate_low: 0.18,
  rate_high: 0.26,
  grade: 'B',
  compared: 9,
  rate_compared: 0.21,
  rate_before: 0.18,
}
const first: Attrition = {
  part: 'organization',
  organization_id: 'org_1',
  name: 'Iris Payments',
  leavers: 31,
  headcount: 100,
  rate: 0.31,
  rate_low: 0.3,
  rate_high: 0.35,
  rate_before: 0.24,
  more: 7,
  grade: 'B',
  rows_of_part: 10,
}
const sales: Attrition = { ...first, part: 'function', organization_id: null, name: 'hr' }
const noRate = {
  rated: 0,
  rate: null,
  rate_low: null,
  rate_high: null,
  grade: null,
  compared: 0,
  rate_compared: null,
  rate_before: null,
}
const unobserved = { joined_before: null, went_before: null }

describe('the answer', () => {
  it('says whether people are lost, compared with the year before, and where', () => {
    expect(answerOf({ year, attrition: [sales, first] })).toEqual([
      'Yes: 200 people left and 150 joined in the twelve months to Oct 2026, after 160 and 190 the year before.',
      'At the 10 of 12 organisations with a rate, 21 % of the people left in that time (18–26 %, grade B: to quote with its range), up from 18 % the year before.',
      'Most of all at Iris Payments: 31 % left, 7 more people than at its rate of the year before, 24 %.',
    ])
  })

  it.each([
    [{ went: 150, joined: 200 }, /^No: 150 people left and 200 joined /],
    // Two standard deviations of the difference are 29.1 at 212 people.
    [{ went: 121, joined: 91 }, /^Yes: 121 people left and 91 joined /],
    [{ went: 120, joined: 92 }, /^About as many came as went: 120 people left /],
    [{ went: 92, joined: 120 }, /^About as many came as went: 92 people left /],
    [{ went: 1, joined: 0 }, /^About as many came as went: 1 person left and 0 joined /],
    [{ went: 0, joined: 0 }, /^Not known: no one was seen to join or to leave in the twelve/],
    [{ months: 5, ...unobserved }, /in the 5 months to Oct 2026\.$/],
  ])('of %j begins as expected', (counts, says) => {
    const [answer] = answerOf({ year: { ...year, ...counts }, attrition: [] })
    expect(answer).toMatch(says)
  })

  it('of one organisation names the function', () => {
    const one = { ...year, organizations: 1, rated: 1, compared: 1 }
    const lines = answerOf({ year: one, attrition: [first, { ...sales, rate_before: null }] })
    expect(lines.at(-1)).toBe(
      'Most of all in HR: 31 % left, 7 more people than at the average rate.',
    )
  })

  it('compares no rates if few existed the year before, and names no place if none got worse', () => {
    const few = { ...year, compared: 4 }
    expect(answerOf({ year: few, attrition: [{ ...first, more: 0 }] }).slice(1)).toEqual([
      'At the 10 of 12 organisations with a rate, 21 % of the people left in that time (18–26 %, grade B: to quote with its range).',
    ])
    const same = { ...year, organizations: 10, rate_before: 0.209, rate_high: null }
    expect(answerOf({ year: same, attrition: [] })[1]).toBe(
      '21 % of the people left in that time (from 18 %, grade B: to quote with its range), the same as the year before.',
    )
  })

  it('in the first observed year says when the first rate comes', () => {
    const young = { ...year, ...noRate, ...unobserved, months: 11 }
    const dates = { observed_since_on: '2025-12-01', first_rate_on: '2027-01-01' }
    expect(answerOf({ year: { ...young, ...dates }, attrition: [] })[1]).toBe(
      'No rate yet: observed since Dec 2025, first rate on 1 Jan 2027.',
    )
    const asked = { ...young, ...dates, is_from_beginning: true }
    expect(answerOf({ year: asked, attrition: [] })[1]).toBe(
      'No rate yet: first change in Dec 2025, first rate on 1 Jan 2027.',
    )
    const small = { ...young, first_rate_on: '2026-11-01' }
    expect(answerOf({ year: small, attrition: [] })[1]).toBe(
      'No rate: it takes 10 people on average, and there were fewer.',
    )
    expect(answerOf({ year: { ...small, people_seen: 9 }, attrition: [] })[1]).toBe(
      'No rate: it takes 10 people, and fewer were ever seen.',
    )
  })

  it('without data says that nothing was read', () => {
    const empty = { ...year, ...noRate, ...unobserved, month_on: null, organizations: 0 }
    expect(answerOf({ year: empty, attrition: [] })).toEqual([
      'Not known: nothing was fetched yet.',
    ])
  })
})
