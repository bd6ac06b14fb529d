import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareTitles } from '../../src/titles/compare.ts'

describe('compareTitles', () => {
  it.each([
    ['Software Engineer', 'Senior Software Engineer', 'promotion'],
    ['Sachbearbeiter Einkauf', 'Teamleiter Einkauf', 'promotion'],
    ['Senior Vice President', 'Executive Vice President', 'promotion'],
    ['Chief Operating Officer', 'Chief Executive Officer', 'promotion'],
    ['Interim Engineering Manager', 'Engineering Manager', 'promotion'],
    ['Subgerente de Compras', 'Gerente de Compras', 'promotion'],
    ['Tech Lead', 'Engineering Manager', 'promotion'],
    ['Director of Pro Scouting', 'Assistant General Manager', 'promotion'],
    ['Registered Nurse', 'Nurse Practitioner', 'promotion'],
    ['Project/Program Coordinator', 'Project/Program Manager', 'promotion'],
    ['Assistant/Vice Principal', 'Principal', 'promotion'],
    ['Assistant Controller', 'Controller', 'promotion'],
    ['Copy Editor/Reporter', 'Editor', 'promotion'],
    ['Private', 'PFC', 'promotion'],
    ['PFC', 'Corporal', 'promotion'],
    ['Captain', 'Major', 'promotion'],
    ['Major', 'Lieutenant Colonel', 'promotion'],
    ['Lieutenant Colonel', 'Colonel', 'promotion'],
    ['Commander', 'Deputy Chief', 'promotion'],
    ['Deputy Chief', 'Chief of Police', 'promotion'],
    ['Professor', 'Distinguished Professor', 'promotion'],
    ['RN', 'Charge RN', 'promotion'],
    ['Distinguished Engineer', 'Technical Fellow', 'promotion'],
    [
      'SPECIAL ASSISTANT TO THE PRESIDENT',
      'DEPUTY ASSISTANT TO THE PRESIDENT AND DEPUTY PRESS SECRETARY',
      'promotion',
    ],
    [
      'Deputy Assistant to the President and Deputy Press Secretary',
      'Assistant to the President and Press Secretary',
      'promotion',
    ],
    ['Principal', 'Vice Principal', 'demotion'],
    ['VP of Engineering', 'Director of Engineering', 'demotion'],
    ['Math Teacher', 'Teacher of Mathematics', 'retitle'],
    ['CEO', 'Former CEO', 'unclassified'],
    ['Sous Chef', 'Chef de Partie', 'demotion'],
    ['Directeur de projet', 'Chef de projet', 'demotion'],
    ['Gerente de Marketing', 'Analista de Marketing', 'demotion'],
    ['SVP Sales', 'VP Sales', 'demotion'],
    ['Engineering Manager', 'Senior Engineer', 'demotion'],
    ['Wizard of Light', 'Software Engineer', 'unclassified'],
    ['Software Engineer', 'Wizard of Light', 'unclassified'],
    ['', '—', 'unclassified'],
  ])('%s → %s is a %s', (previous, current, change) => {
    expect(compareTitles(previous, current).label).toBe(change)
  })

  it.each([
    ['Account Executive', 'Account Manager', 'other_job'],
    ['Engineering Manager', 'Staff Engineer', 'manager_to_expert'],
    ['Principal Engineer', 'Engineering Manager', 'expert_to_manager'],
    ['Software Engineer', 'Data Engineer', 'other_job'],
    ['Product Manager', 'Product Marketing Manager', 'other_job'],
    ['VP People', 'VP Strategy', 'other_job'],
    ['Executive Director, Risk', 'Executive Director, Technology', 'other_job'],
    ['Chef de projet', 'Chef de produit', 'other_job'],
    ['Analista de Marketing', 'Analista de Ventas', 'other_job'],
  ])('%s → %s is lateral: %s', (previous, current, rule) => {
    expect(compareTitles(previous, current)).toMatchObject({ label: 'lateral', rule })
  })

  it.each([
    ['CEO', 'Chief Executive Officer', 'same_words'],
    ['Product Manager, Handbook', 'Handbook Product Manager', 'same_words'],
    ['Open-source contributor', 'open source contributor', 'same_words'],
    ['Fisheries Biologist', 'Fisheries Biologst', 'typing_error'],
    ['Leiterin Qualitätssicherung', 'Leiter Qualitätssicherung', 'gender'],
    ['Rêveur', 'Rêveuse', 'gender'],
    ['Director of Engineering', 'Director of Engineering, Enablement', 'same_job'],
    ['Chief of Staff to the CEO', 'Chief of Staff', 'same_words'],
    ['Product Manager, Growth', 'Product Manager, Platform', 'same_job'],
    ['Backend Developer', 'Full-Stack Engineer', 'same_job'],
    ['Account Executive EMEA', 'Account Executive DACH', 'same_job'],
    ['Senior Consultant', 'Senior Consultant - Financial Services', 'same_job'],
    ['Chargée de recrutement', 'Recruiter', 'translation'],
    ['Softwareentwickler', 'Desarrolladora de software', 'translation'],
    ['Social Responsibility Manager', 'Gerente de Responsabilidad Social', 'translation'],
    ['Zorblax Programme Manager', 'Zorblax Programme Manager, Nordics', 'same_job'],
  ])('%s → %s is a retitle: %s', (previous, current, rule) => {
    expect(compareTitles(previous, current)).toMatchObject({ label: 'retitle', rule })
  })

  it('orders grades of a job that no list knows: zorblaxist is below Senior zorblaxist and zorblaxist III', () => {
    expect(compareTitles('Zorblax', 'Senior Zorblax').label).toBe('promotion')
    expect(compareTitles('Zorblax III', 'Zorblax II').label).toBe('demotion')
    expect(compareTitles('Zorblax', 'Zorblax, Berlin').label).toBe('retitle')
  })

  it('is surer of two levels than of a step inside one, and not sure at all of what it does not know', () => {
    const levels = compareTitles('Software Engineer', 'Director of Engineering').confidence
    const step = compareTitles('Chief Marketing Officer', 'Chief Executive Officer').confidence
    expect(levels).toBeGreaterThan(step)
    expect(step).toBeGreaterThan(0.5)
    expect(compareTitles('Wizard of Light', 'Software Engineer').confidence).toBe(0)
  })

  it('answers any two texts, and never promotes there and back', () => {
    const title = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 40 }),
      fc
        .tuple(
          fc.constantFrom('', 'Senior', 'Deputy', 'Interim', 'Lead', 'Chief'),
          fc.constantFrom('Engineer', 'Manager', 'Director', 'Leiterin', 'Comptable', 'Zorblax'),
          fc.constantFrom('', 'of Sales', ', Search', 'II', '& Founder', '\0'),
        )
        .map((words) => words.join(' ')),
    )
    fc.assert(
      fc.property(title, title, (previous, current) => {
        const there = compareTitles(previous, current)
        const back = compareTitles(current, previous)
        expect(there.label === 'promotion' && back.label === 'promotion').toBe(false)
        expect(there.label === 'retitle').toBe(back.label === 'retitle')
        expect(there.confidence).toBeGreaterThanOrEqual(0)
        expect(there.confidence).toBeLessThanOrEqual(1)
      }),
    )
  })
})
