import { describe, expect, it } from 'vitest'
import { compareTitles } from '../../src/titles/compare.ts'

describe('steps of a trade that levels do not distinguish, or get wrong', () => {
  it.each([
    'Senior House Officer; Specialty Registrar; Consultant Surgeon; Clinical Director',
    'Resident Physician; Cardiology Fellow; Attending Cardiologist; Chief Physician',
    'Assistenzärztin; Fachärztin; Oberärztin; Leitende Oberärztin; Chefärztin',
    'Interne en médecine; Chef de clinique; Praticien hospitalier; PU-PH; Chef de service de cardiologie',
    'Aide-soignante; Infirmière; Cadre de santé',
    'Healthcare Assistant; Band 5 Staff Nurse; Ward Sister; Matron',
    'PhD Student; Postdoc; Assistant Professor; Associate Professor; Full Professor',
    'Lecturer in Physics; Senior Lecturer; Reader; Professor of Physics',
    'Doctorante; ATER; Maîtresse de conférences; Professeure des universités',
    'Doktorand; Wissenschaftlicher Mitarbeiter; Juniorprofessor; W2-Professor; W3-Professor',
    'Attaché de recherche; Chargé de recherche; Directeur de recherche',
    'Post-doctorante; Chargée de recherche',
    'Police Constable; Sergeant; Inspector; Chief Inspector; Superintendent',
    'Polizeimeister; Polizeikommissarin; Polizeioberkommissarin; Polizeihauptkommissar; Polizeirat; Polizeidirektor',
    'Executive Officer; Higher Executive Officer; Senior Executive Officer; Grade 7',
    'Universitair docent; Universitair hoofddocent; Hoogleraar',
    'Collaborateur comptable; Comptable; Expert-comptable',
    'Investment Banking Analyst; Investment Banking Associate; Vice President, Investment Banking; Director, Investment Banking; Managing Director, Investment Banking',
  ])('lead up: %s', (ladder) => {
    const titles = ladder.split('; ')
    for (const [at, title] of titles.slice(1).entries()) {
      expect([title, compareTitles(titles[at] ?? '', title).label]).toEqual([title, 'promotion'])
    }
  })

  it.each([
    ['Analyst', 'Associate'],
    ['Associate', 'Analyst'],
    ['Vice President', 'Director'],
    ['Director', 'Vice President'],
    ['Vice President, Treasury', 'Director, Treasury'],
  ])('are a guess if the trade decides and nothing shows it: %s → %s', (previous, current) => {
    expect(compareTitles(previous, current)).toEqual({
      label: 'promotion',
      rule: 'trade_decides',
      confidence: 0.5,
    })
  })

  it('do not override levels elsewhere', () => {
    expect(compareTitles('Quality Inspector', 'Quality Superintendent').rule).not.toBe(
      'step_of_ladder',
    )
    expect(compareTitles('VP Marketing', 'Marketing Director').label).toBe('demotion')
    expect(compareTitles('Senior Analyst', 'Director')).toMatchObject({ rule: 'level' })
    expect(compareTitles('Oberarzt', 'Facharzt').label).toBe('demotion')
  })
})
