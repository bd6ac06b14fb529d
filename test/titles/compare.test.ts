import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareTitles } from '../../src/titles/compare.ts'

describe('compareTitles', () => {
  it.each([
    ['Software Engineer', 'Senior Software Engineer', 'promotion', 'level'],
    ['Copy Editor/Reporter', 'Editor', 'promotion', 'step_of_trade'],
    ['Senior Vice President', 'Executive Vice President', 'promotion', 'step_inside_level'],
    ['Interim Engineering Manager', 'Engineering Manager', 'promotion', 'deputy_of_same_title'],
    ['Subdirector de Compras', 'Director de Compras', 'promotion', 'deputy_of_same_job'],
    ['Registered Nurse', 'Nurse Practitioner', 'promotion', 'step_of_trade'],
    ['Deputy Warden', 'Acting Warden', 'promotion', 'deputy_of_same_job'],
    ['Acting Warden', 'Deputy Warden', 'lateral', 'end_of_acting'],
    ['Deputy Headteacher', 'Acting Headteacher', 'promotion', 'step_of_ladder'],
    ['Acting Headteacher', 'Deputy Headteacher', 'lateral', 'interim_ended'],
    ['Interim CEO', 'COO', 'lateral', 'interim_ended'],
    ['Acting Head of Sales', 'Sales Manager', 'lateral', 'interim_ended'],
    ['CEO', 'COO', 'demotion', 'step_inside_level'],
    // Who heads a country and then the whole rises; an added place, a city, and posts without a whole say nothing.
    ['CEO, France', 'CEO', 'promotion', 'region_to_whole'],
    ['CEO EMEA', 'Group CEO', 'promotion', 'region_to_whole'],
    ['Head of Sales, EMEA', 'Head of Sales', 'promotion', 'region_to_whole'],
    ['Head of Sales, EMEA', 'Global Head of Sales', 'promotion', 'region_to_whole'],
    ['VP Sales, Germany', 'VP Global Sales', 'promotion', 'region_to_whole'],
    ['Geschäftsführer Deutschland', 'Geschäftsführer', 'promotion', 'region_to_whole'],
    ['Directeur commercial France', 'Directeur commercial', 'promotion', 'region_to_whole'],
    // The same job for more of the world, or for less; a region that is only added says nothing.
    ['Area Sales Manager', 'Regional Sales Manager', 'promotion', 'wider_extent'],
    ['Regional Sales Manager', 'National Sales Manager', 'promotion', 'wider_extent'],
    ['National Account Manager', 'Global Account Manager', 'promotion', 'wider_extent'],
    ['Regional Director', 'National Director', 'promotion', 'wider_extent'],
    ['Gebietsleiter', 'Regionalleiter', 'promotion', 'wider_extent'],
    ['Jefe regional de ventas', 'Jefe nacional de ventas', 'promotion', 'wider_extent'],
    ['Responsable régional', 'Responsable national', 'promotion', 'wider_extent'],
    ['Global HR Manager', 'Regional HR Manager', 'demotion', 'wider_extent'],
    ['Regional Manager', 'Area Manager', 'demotion', 'wider_extent'],
    ['Regional Sales Manager', 'Regional Sales Manager, North', 'retitle', 'same_job'],
    ['District Manager', 'Area Manager', 'retitle', 'same_job'],
    ['Regional Operations Manager', 'National Sales Manager', 'lateral', 'other_job'],
    // In shops and stores all are associates; elsewhere it is a grade.
    ['Delivery Driver', 'Warehouse Associate', 'lateral', 'no_clear_fall'],
    ['Receptionist', 'Sales Associate', 'lateral', 'no_clear_fall'],
    ['Store Manager', 'Sales Associate', 'demotion', 'level'],
    ['Research Scientist', 'Research Associate', 'demotion', 'level'],
    // Chosen for a post that another still holds
    ['CEO Designate', 'CEO', 'promotion', 'deputy_of_same_job'],
    [
      'Chief Executive Officer (designate)',
      'Chief Executive Officer',
      'promotion',
      'deputy_of_same_job',
    ],
    ['Designierter Geschäftsführer', 'Geschäftsführer', 'promotion', 'step_inside_level'],
    ['COO', 'CEO Designate', 'promotion', 'step_inside_level'],
    ['CFO', 'CFO Designate', 'demotion', 'deputy_of_same_job'],
    // All assistants are beginners, but a senior one stands above the others.
    ['Care Assistant', 'Senior Care Assistant', 'promotion', 'grade_of_same_job'],
    ['Senior Care Assistant', 'Care Assistant', 'demotion', 'grade_of_same_job'],
    ['Software Engineer, L5', 'Senior Software Engineer (L5)', 'retitle', 'same_job'],
    ['Head Teacher', 'Headteacher', 'retitle', 'same_words'],
    ['Lorry Driver', 'HGV Driver', 'retitle', 'same_words'],
    // Partners of a firm
    ['Junior Partner', 'Partner', 'promotion', 'step_inside_level'],
    ['Partner', 'Equity Partner', 'promotion', 'step_inside_level'],
    ['Senior Partner', 'Managing Partner', 'promotion', 'step_inside_level'],
    ['Partner', 'Salaried Partner', 'demotion', 'step_inside_level'],
    ['Partner', 'Tax Partner', 'retitle', 'same_job'],
    ['CEO', 'CEO, France', 'retitle', 'same_job'],
    ['Head of Sales', 'Head of Sales, EMEA', 'retitle', 'same_job'],
    ['CEO, France', 'CEO, Germany', 'retitle', 'same_job'],
    ['CEO, France', 'Regional CEO', 'retitle', 'same_job'],
    ['Sales Manager', 'Sales Manager, Berlin', 'retitle', 'same_job'],
    ['Engineering Manager, EMEA', 'Engineering Manager', 'retitle', 'same_job'],
    ['Head of Engineering, Berlin', 'Head of Engineering', 'retitle', 'same_job'],
    ['Software Engineer, Germany', 'Software Engineer', 'retitle', 'same_job'],
    ['Partner, France', 'Partner', 'retitle', 'same_job'],
    ['Secondment: Finance Manager', 'Finance Manager', 'retitle', 'same_job'],
    ['Secondment: Finance Manager', 'HR Manager', 'lateral', 'other_job'],
    ['HR Director (maternity cover)', 'HR Director', 'promotion', 'step_inside_level'],
    ['Principal', 'Vice Principal', 'demotion', 'deputy_of_same_title'],
    ['Sous Chef', 'Chef de Partie', 'demotion', 'level'],
    ['Engineering Manager', 'Senior Engineer', 'demotion', 'level'],
    ['Engineering Manager', 'Staff Engineer', 'lateral', 'manager_to_expert'],
    ['Principal Engineer', 'Engineering Manager', 'lateral', 'expert_to_manager'],
    ['Product Manager', 'Product Marketing Manager', 'lateral', 'other_job'],
    ['CEO', 'Chief Executive Officer', 'retitle', 'same_words'],
    ['Chief of Staff to the CEO', 'Chief of Staff', 'retitle', 'same_words'],
    ['Fisheries Ecologist', 'Fisheries Ecologst', 'retitle', 'typing_error'],
    ['Rêveur', 'Rêveuse', 'retitle', 'gender'],
    ['Math Teacher', 'Teacher of Mathematics', 'retitle', 'same_words'],
    ['Product Manager, Growth', 'Product Manager, Platform', 'retitle', 'same_job'],
    ['Backend Developer', 'Full-Stack Engineer', 'retitle', 'same_job'],
    ['Chargée de recrutement', 'Recruiter', 'retitle', 'translation'],
    ['CEO', 'Former CEO', 'unclassified', 'job_ended'],
    ['Wizard of Light', 'Software Engineer', 'unclassified', 'level_unknown'],
    ['', '—', 'unclassified', 'no_words'],
  ])('%s → %s is a %s: %s', (previous, current, label, rule) => {
    expect(compareTitles(previous, current)).toMatchObject({ label, rule })
  })

  it('orders grades of an unknown job: zorblaxist is below Senior zorblaxist and zorblaxist III', () => {
    expect(compareTitles('Zorblax', 'Senior Zorblax').label).toBe('promotion')
    expect(compareTitles('Zorblax III', 'Zorblax II').label).toBe('demotion')
    expect(compareTitles('Zorblax', 'Zorblax, Berlin').label).toBe('retitle')
  })

  it('is more confident of two levels than of a step within one, and uncertain of unknown titles', () => {
    const levels = compareTitles('Software Engineer', 'Director of Engineering').confidence
    const step = compareTitles('Chief Marketing Officer', 'Chief Executive Officer').confidence
    expect(levels).toBeGreaterThan(step)
    expect(step).toBeGreaterThan(0.5)
    expect(compareTitles('Wizard of Light', 'Software Engineer').confidence).toBe(0)
  })

  it('accepts any two texts, and never calls both directions a promotion', () => {
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
        // None of them names a region.
        expect(there.label === 'retitle').toBe(back.label === 'retitle')
        expect(there.confidence).toBeGreaterThanOrEqual(0)
        expect(there.confidence).toBeLessThanOrEqual(1)
      }),
    )
  })
})
