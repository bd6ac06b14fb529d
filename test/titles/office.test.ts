import { describe, expect, it } from 'vitest'
import { understandTitle } from '../../src/titles/understand.ts'

describe('the office of a title at the top', () => {
  it.each([
    ['CEO', 'chief executive officer'],
    ['President & CEO', 'chief executive officer'],
    ['Founder, CEO & CTO', 'chief executive officer'],
    ['CEO & Vice Chairman', 'chief executive officer'],
    ['CFO and interim CEO', 'chief executive officer'],
    ['Directeur général par intérim', 'chief executive officer'],
    ['Deputy Group CEO', 'deputy chief executive officer'],
    ['Directeur général adjoint', 'deputy chief executive officer'],
    ['Directrice générale déléguée', 'deputy chief executive officer'],
    ['Director General Adjunto', 'deputy chief executive officer'],
    ['CEO Designate', 'deputy chief executive officer'],
    ['Chief Executive Officer (designate)', 'deputy chief executive officer'],
    ['CEO, EMEA', 'chief executive officer emea'],
    ['Regional CEO', 'regional chief executive officer'],
    ['EVP and CFO', 'chief financial officer'],
    ['EVP, Chief Risk Officer', 'risk officer'],
    ['President and Managing Director', 'managing director'],
    ['President', 'president'],
    ['Executive Chairman', 'chairperson'],
    ['Co-Founder', 'founder'],
    ['VP Sales', null],
    ['Former CEO', null],
  ])('of %s is %s', (title, office) => {
    expect(understandTitle(title).office).toBe(office)
  })
})

describe('a title held for the time being', () => {
  it.each([
    ['Interim CEO', true],
    ['CEO (Interim)', true],
    ['Acting VP of Sales', true],
    ['Kommissarischer Leiter Vertrieb', true],
    ['Directeur général par intérim', true],
    ['CEO', false],
    ['Deputy CEO', false],
  ])('%s: %s', (title, isInterim) => {
    expect(understandTitle(title).isInterim).toBe(isInterim)
  })
})
