import { describe, expect, it } from 'vitest'
import { companyText } from '../../src/cli/text.ts'

describe('companyText', () => {
  it.each([
    ['https://network.example/company/acme/', '…/acme'],
    ['https://network.example/company/acme?trk=x#top', '…/acme'],
    ['http://network.example/acme', '…/acme'],
    ['https://network.example', 'https://network.example'],
    ['https://network.example/', 'https://network.example/'],
    ['acme', 'acme'],
    ['org_010e2fd35136f2fe', 'org_010e2fd35136f2fe'],
  ])('shows %s as %s', (askedAs, shown) => {
    expect(companyText(askedAs)).toBe(shown)
  })
})
