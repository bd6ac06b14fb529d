import { describe, expect, it } from 'vitest'
import { isAboutCompany, namedCompanies } from '../../src/extract/named-companies.ts'

const references = (...values: string[]) => values.map((value) => ({ by: 'url' as const, value }))
const named = (message: string, ...values: string[]) => {
  const { certain, doubtful } = namedCompanies(message, references(...values))
  return {
    certain: certain.map(({ value }) => value),
    doubtful: doubtful.map(({ value }) => value),
  }
}

const URL = 'https://x.example/company/acme'

describe('a company that a message names', () => {
  it.each([
    ['its slug after a colon', 'company not tracked: acme', 'acme'],
    ['its slug in quotes', 'company "acme" is not tracked', 'acme'],
    ['its slug in capitals', 'Company ACME is not tracked', 'acme'],
    ['its slug before a full stop', 'We do not track acme.', 'acme'],
    ['a slug with a hyphen', 'company acme-labs is not tracked', 'acme-labs'],
    ['a slug that is an ordinary word, in quotes', 'company "target" is not tracked', 'target'],
    ['a slug that is a word of such messages, in quotes', 'company "not" is not tracked', 'not'],
    ['its id', 'organization_ids: organization not tracked: org_17x', 'org_17x'],
    ['its URL', `unknown company_url ${URL}!`, URL],
    ['its URL after a colon', `company_urls: company not tracked: ${URL}`, URL],
    ['its URL without the scheme', 'company not tracked: x.example/company/acme', `${URL}/`],
    ['its URL by the slug', 'company not tracked: acme', `${URL}/?a=1`],
    ['an encoded slug', 'company not tracked: müller', 'https://x.example/company/m%C3%BCller'],
    ['a list in brackets', 'untracked company_urls: ["acme"]', 'acme'],
  ])('by %s is to blame', (_, message, name) => {
    expect(named(message, 'globex', name, 'initech')).toEqual({ certain: [name], doubtful: [] })
  })

  it.each([
    ['companies not tracked: a1, c3', ['a1', 'c3']],
    ['companies not tracked: acme and globex.', ['acme', 'globex']],
    ['companies not tracked: acme, globex, and initech', ['acme', 'globex', 'initech']],
    ['companies "acme", "globex" are not tracked', ['acme', 'globex']],
    ['unknown companies: ["acme","globex"]', ['acme', 'globex']],
  ])('is to blame together with the others: %s', (message, all) => {
    expect(named(message, ...all, 'umbrella').certain).toEqual(all)
  })

  it.each([
    'company not tracked: acme-labs',
    'company not tracked: my-acme',
    'company not tracked: acme.example',
    'company not tracked: acme/jobs',
    'company not tracked: acme_2',
    'company not tracked: acmé',
  ])('is not part of another name: %s', (message) => {
    expect(named(message, 'acme', 'globex')).toEqual({ certain: [], doubtful: [] })
  })
})

describe('a company that is called like a word of the message', () => {
  it.each([
    ['company acme is not tracked', ['company', 'acme'], ['acme']],
    ['company not tracked: acme', ['not', 'tracked', 'company', 'acme'], ['acme']],
    ['a company of the request is not tracked', ['request', 'acme'], []],
    ['page 1: the company target is not tracked', ['page', 'zeta'], []],
    ['page 1: the company target is not tracked', ['page', 'target'], ['target']],
    ['invalid request: target company is not tracked', ['target', 'zeta', 'request'], []],
    ['the target company acme is not tracked', ['target', 'acme', 'zeta'], ['acme']],
    ['company is not tracked', ['is', 'zeta'], []],
    ['12 of 50 are not tracked, no such company', ['50', '12', 'zeta'], []],
    ['organization 50 not tracked', ['50', 'zeta'], []],
    ['organization "50" not tracked', ['50', 'zeta'], ['50']],
    ['organization 104857 is not tracked', ['104857', 'zeta'], ['104857']],
  ])('%s: of %j only %j is to blame', (message, all, certain) => {
    const found = named(message, ...all)
    expect(found.certain).toEqual(certain)
  })

  it('is to be tested when it stands where any word could', () => {
    const message = 'the target company is not tracked, try another one'
    expect(named(message, 'target', 'another', 'globex')).toEqual({
      certain: [],
      doubtful: ['target', 'another'],
    })
  })

  it('is to be tested when the message is about something else', () => {
    expect(named('days_ago must be from 1 to 365', '365', 'globex')).toEqual({
      certain: [],
      doubtful: ['365'],
    })
  })
})

describe('isAboutCompany', () => {
  it.each([
    'company not tracked',
    'one of the companies is not tracked',
    'We do not track acme.',
    'organisation unknown',
    'no such organization',
    'untracked company_url',
    'The company was not found',
  ])('yes: %s', (message) => {
    expect(isAboutCompany(message)).toBe(true)
  })

  it.each([
    'days_ago must be at most 365',
    'invalid JSON',
    'no message',
    'organization filter is temporarily unavailable',
    'too many companies',
    'page must be a number',
  ])('no: %s', (message) => {
    expect(isAboutCompany(message)).toBe(false)
  })
})
