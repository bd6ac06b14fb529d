import { describe, expect, it } from 'vitest'
import { halve, isolate } from '../../src/extract/split.ts'
import { slicesOf } from './extract-fixture.ts'

const sliceOf = (...names: string[]) => slicesOf(names.map((value) => ({ by: 'url', value })))[0]!
const names = (slices: readonly ReturnType<typeof sliceOf>[]) =>
  slices.map((slice) => slice.organizations.map(({ value }) => value).join())

describe('isolate', () => {
  it.each([
    ['its slug', 'company not tracked: acme', 'acme'],
    ['its slug in quotes', 'company "acme" is not tracked', 'acme'],
    ['its slug in capitals', 'Company ACME is not tracked', 'acme'],
    ['its slug before a full stop', 'We do not track acme.', 'acme'],
    [
      'its URL',
      'unknown company_url https://x.example/company/acme!',
      'https://x.example/company/acme',
    ],
  ])('leaves a company out that the message names by %s', (_, message, name) => {
    const isolation = isolate(sliceOf('globex', name, 'initech'), message)
    expect(isolation?.setAside.map(({ value }) => value)).toEqual([name])
    expect(names(isolation?.instead ?? [])).toEqual(['globex,initech'])
    expect(isolation?.instead[0]?.slice_id).toBe('0001.1')
  })

  it('leaves every company out that the message names', () => {
    const isolation = isolate(sliceOf('a1', 'b2', 'c3'), 'companies not tracked: a1, c3')
    expect(isolation?.setAside.map(({ value }) => value)).toEqual(['a1', 'c3'])
    expect(names(isolation?.instead ?? [])).toEqual(['b2'])
  })

  it.each([
    ['company not tracked: acme-labs'],
    ['company not tracked: my-acme'],
    ['company not tracked: x.example/company/acme'],
    ['company not tracked: acme.example'],
    ['company not tracked: acme/jobs'],
    ['company not tracked: acme_2'],
  ])('takes no part of another name for a company: %s', (message) => {
    const isolation = isolate(sliceOf('acme', 'globex'), message)
    expect(isolation?.setAside).toEqual([])
    expect(names(isolation?.instead ?? [])).toEqual(['acme', 'globex'])
  })

  it('leaves nothing to ask when the only company is named', () => {
    const isolation = isolate(sliceOf('acme'), 'company not tracked: acme')
    expect(isolation).toMatchObject({ setAside: [{ value: 'acme' }], instead: [] })
  })

  it('blames a single company that the message is about without naming it', () => {
    expect(isolate(sliceOf('acme'), 'organisation unknown')).toMatchObject({
      setAside: [{ value: 'acme' }],
      instead: [],
    })
  })

  it.each([
    'days_ago must be at most 365',
    'invalid JSON',
    'no message',
    'organization filter is temporarily unavailable',
    'too many companies',
  ])('does not search for a company when the message is about something else: %s', (message) => {
    expect(isolate(sliceOf('acme', 'globex'), message)).toBeNull()
  })
})

describe('halve', () => {
  it.each([
    [2, [1, 1]],
    [3, [2, 1]],
    [50, [25, 25]],
  ])('%i organisations become %j, none lost, window and types kept', (count, sizes) => {
    const slice = { ...sliceOf(...Array.from({ length: count }, (_, i) => `o${i}`)), days_ago: 9 }
    const halves = halve(slice)
    expect(halves.map(({ organizations }) => organizations.length)).toEqual(sizes)
    expect(halves.flatMap(({ organizations }) => organizations)).toEqual(slice.organizations)
    expect(halves.map(({ slice_id }) => slice_id)).toEqual(['0001.1', '0001.2'])
    expect(halves.every(({ days_ago }) => days_ago === 9)).toBe(true)
  })
})
