import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { understandTitle } from '../../src/titles/understand.ts'

describe('understandTitle', () => {
  it.each([
    [
      'intern',
      false,
      [
        'Software Engineer Intern',
        'Werkstudent (m/w/d) IT',
        'Stagiaire',
        'Becaria de Finanzas',
        'Estagiário',
      ],
    ],
    [
      'entry',
      false,
      [
        'Junior Developer',
        'Associate Consultant',
        'Graduate Trainee',
        'Vertriebsassistentin',
        'Analista Júnior',
        'Auxiliar de Produção',
        'Assistant to the CEO',
        'Staff Assistant',
      ],
    ],
    [
      'mid',
      false,
      [
        'Software Engineer',
        'Account Manager',
        'Product Manager',
        'Executive Assistant to the CEO',
        'Staff Accountant',
        'Softwareentwickler (m/w/d)',
        'Développeuse',
        'Chargée de Recrutement',
        'Ingeniera de Datos',
        'Desenvolvedor',
      ],
    ],
    [
      'senior',
      false,
      [
        'Senior Product Manager',
        'Sr. Software Engineer',
        'Développeur senior',
        'Associate Professor',
        'Audit Senior',
        'Desenvolvedora Sênior',
      ],
    ],
    [
      'lead',
      false,
      [
        'Staff Software Engineer',
        'Principal Consultant',
        'Lead Data Engineer',
        'Software Architect at Trifork',
        'Professor',
        'Tech Lead',
      ],
    ],
    ['lead', true, ['Team Lead', 'Teamleiter_in IT Services', 'Teamleiterin Einkauf']],
    [
      'manager',
      true,
      [
        'Engineering Manager',
        'Senior Manager, FP&A',
        'Assistant Manager',
        'Store Manager',
        'Filialleiter',
        'Responsable commercial',
        'Gerente de Marketing',
        'Jefa de Ventas',
      ],
    ],
    [
      'director',
      true,
      [
        'Director, FP&A',
        'Head of Legal',
        'Associate Director of Finance',
        'Abteilungsleiterin Controlling',
        'Directrice des partenariats',
        'Diretora de Vendas',
      ],
    ],
    ['director', false, ['Chief of Staff', 'Chief of Staff to the CEO']],
    [
      'vp',
      true,
      [
        'VP Ops',
        'SVP of Engineering',
        'Assistant Vice President - Procurement',
        'Vice-presidente de Marketing',
      ],
    ],
    [
      'cxo',
      true,
      [
        'CEO',
        'Chief Marketing and Strategy Officer',
        'Founder & CEO',
        'Managing Director',
        'Geschäftsführerin',
        'Directeur général',
        'Consejero delegado',
        'Fundadora',
        'Law Firm Partner',
      ],
    ],
  ] as const)('reads %s (management: %s) in %j', (level, isManagement, titles) => {
    for (const title of titles) {
      expect(understandTitle(title), title).toMatchObject({ level, isManagement })
    }
  })

  it.each([
    'Open-source contributor',
    'Wizard of Light',
    '',
    '—',
    '株式会社',
    'II',
    'Staff',
    'Partner Programme',
  ])('abstains from %j', (title) => {
    expect(understandTitle(title)).toEqual({ level: 'unknown', rank: null, isManagement: null })
  })

  it('ranks 12 titles of one ladder in their order, each a clear step of 3 or more above the one before', () => {
    const ladder = [
      'Intern',
      'Junior Engineer',
      'Engineer',
      'Engineer II',
      'Senior Engineer',
      'Team Lead',
      'Engineering Manager',
      'Senior Engineering Manager',
      'Director of Engineering',
      'Senior Director of Engineering',
      'VP Engineering',
      'CTO',
    ].map((title) => understandTitle(title).rank ?? Number.NaN)
    const steps = ladder.slice(1).map((rank, index) => rank - (ladder[index] ?? 0))
    expect(Math.min(...steps)).toBeGreaterThanOrEqual(3)
  })

  it('understands any text the same whatever its case, spaces and accents, with a rank exactly when it has a level', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (text) => {
        const understood = understandTitle(text)
        expect(understandTitle(` ${text.normalize('NFD')} `)).toEqual(understood)
        expect(understood.rank === null).toBe(understood.level === 'unknown')
        expect(understood.isManagement === null).toBe(understood.level === 'unknown')
      }),
    )
    expect(understandTitle('DÉVELOPPEUR SENIOR')).toEqual(understandTitle('developpeur senior'))
  })
})
