import { describe, expect, it } from 'vitest'
import { compareTitles } from '../../src/titles/compare.ts'

describe('compareTitles', () => {
  it.each([
    ['Software Engineer', 'Senior Software Engineer', 'promotion'],
    ['Sachbearbeiter Einkauf', 'Teamleiter Einkauf', 'promotion'],
    ['Senior Vice President', 'Executive Vice President', 'promotion'],
    ['Chief Operating Officer', 'Chief Executive Officer', 'promotion'],
    ['Interim Engineering Manager', 'Engineering Manager', 'promotion'],
    ['Gerente de Marketing', 'Analista de Marketing', 'demotion'],
    ['SVP Sales', 'VP Sales', 'demotion'],
    ['Account Executive', 'Account Manager', 'lateral'],
    ['Engineering Manager', 'Staff Engineer', 'lateral'],
    ['CEO', 'Chief Executive Officer', 'retitle'],
    ['Director of Engineering', 'Director of Engineering, Enablement', 'retitle'],
    ['Product Manager, Handbook', 'Handbook Product Manager', 'retitle'],
    ['Chief of Staff to the CEO', 'Chief of Staff', 'retitle'],
    ['Wizard of Light', 'Software Engineer', 'unclassified'],
    ['Software Engineer', 'Wizard of Light', 'unclassified'],
    ['Open-source contributor', 'Open-source contributor', 'retitle'],
  ])('%s → %s is a %s', (previous, current, change) => {
    expect(compareTitles(previous, current)).toBe(change)
  })
})
