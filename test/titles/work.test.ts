import { describe, expect, it } from 'vitest'
import { readWork } from '../../src/titles/work.ts'
import { splitTitle } from '../../src/titles/words.ts'

function workOf(title: string) {
  return readWork(splitTitle(title))
}

describe('the field of work', () => {
  it.each([
    [
      'engineering',
      ['Backend Engineer, Marketing', 'Testingenieurin', 'CTO', 'Entwicklungsleiter Software'],
    ],
    [
      'product',
      ['Senior Product Manager', 'Chef de produit', 'Produktmanagerin', 'Product Owner, Payments'],
    ],
    ['design', ['UX Researcher', 'Diseñador gráfico', 'Modedesignerin', 'Creative Director']],
    ['data', ['Data Analyst, Finance', 'Analista de datos', 'BI Developer', 'Statisticien']],
    [
      'it',
      [
        'Network Engineer',
        'CISO',
        'Fachinformatiker Systemintegration',
        'Administrador de sistemas',
      ],
    ],
    [
      'marketing',
      ['Product Marketing Manager', 'Chargée de communication', 'Event Coordinator', 'PMM'],
    ],
    [
      'sales',
      ['Business Development Manager', 'Vertriebsleiterin', 'Sales Engineer', 'Gerente Comercial'],
    ],
    [
      'customer_success',
      ['Technical Account Manager', 'Sachbearbeiterin Kundenservice', 'Responsable SAV'],
    ],
    [
      'finance',
      ['Director, FP&A', 'Steuerberater', 'Contador', 'Investment Banking Analyst', 'Underwriter'],
    ],
    ['hr', ['Technical Recruiter', 'Personalreferentin', 'Head of People', 'Analista de RH']],
    ['legal', ['General Counsel', 'Rechtsanwältin', 'Compliance Officer', 'Clerc de notaire']],
    [
      'operations',
      ['Project Manager', 'Schweißer', 'Store Manager', 'Agent d’entretien', 'Albañil'],
    ],
    [
      'supply_chain',
      ['Truck Driver', 'Einkäuferin', 'Magasinier', 'Warehouse Manager', 'Motorista'],
    ],
    ['research', ['Postdoctoral Fellow', 'Laborantin', 'Research Scientist', 'Geólogo']],
    ['education', ['Math Teacher', 'Erzieherin', 'Maître de conférences', 'School Principal']],
    ['healthcare', ['Nurse Manager', 'Zahnärztin', 'Aide-soignante', 'Fisioterapeuta']],
    ['administration', ['Executive Assistant', 'Office Manager', 'Secretária', 'Data Entry Clerk']],
    ['consulting', ['Management Consultant', 'Senior Consultant', 'Berater']],
    [
      'general_management',
      ['Founder & CTO', 'Chief of Staff', 'Geschäftsführer', 'Head of Strategy'],
    ],
    ['other', ['Police Officer', 'Sous Chef', 'Redakteurin', 'Policy Advisor', 'Head Coach']],
  ] as const)('is %s for %j', (name, titles) => {
    for (const title of titles) expect(workOf(title).function, title).toBe(name)
  })

  it.each([
    ['Marketing and Sales Manager', 'marketing'],
    ['Sales and Marketing Manager', 'sales'],
    ['IT/Communications Manager', 'it'],
    ['Vice President, Finance and Operations', 'finance'],
  ])('of two fields in %s is the first: %s', (title, name) => {
    expect(workOf(title).function).toBe(name)
  })

  it.each([
    ['Software Sales Manager', 'sales'],
    ['Sales Operations Manager', 'sales'],
    ['Recruiter, Engineering', 'hr'],
    ['Account Executive for Hospitals', 'sales'],
    ['IT Support Engineer', 'it'],
    ['Nurse Recruiter', 'hr'],
  ])('of one noun phrase in %s is what somebody does: %s', (title, name) => {
    expect(workOf(title).function).toBe(name)
  })

  it.each(['Wizard of Light', '株式会社', '', 'Ninja', 'II'])('is not guessed for %j', (title) => {
    expect(workOf(title).function).toBeNull()
  })
})

describe('the core role', () => {
  it.each([
    [
      'software engineer',
      [
        'Senior Software Engineer II',
        'Softwareentwicklerin (m/w/d)',
        'Développeur Full-Stack à Beta',
        'Lead React Developer',
        'Programador',
        'Software Engineer, Payments',
        'Software Engineer on Code Intelligence',
      ],
    ],
    [
      'recruiter',
      ['Chargée de recrutement', 'Talent Acquisition Specialist', 'Senior Recruiter EMEA'],
    ],
    ['product engineer', ['Ingénieur Produit', 'Product Engineer']],
    ['account executive', ['AE', 'Senior Account Executive, DACH']],
    [
      'sales management',
      ['VP Sales', 'Vertriebsleiter', 'Directora de Ventas', 'Head of Sales, Iberia'],
    ],
    ['sales assistant', ['Vertriebsassistentin', 'Sales Assistant']],
    ['chief executive officer', ['CEO', 'Chief Executive']],
  ])('is %j for %j', (core, titles) => {
    for (const title of titles) expect(workOf(title).core, title).toBe(core)
  })
})

describe('a role beside a main job', () => {
  it.each([
    'Board Member',
    'Angel Investor',
    'Non-Executive Director',
    'Mentor',
    'Advisor to the Board',
  ])('is %s', (title) => {
    expect(workOf(title).isSideRole).toBe(true)
  })

  it.each([
    'Board Member & CEO',
    'Financial Advisor',
    'Investor Relations Manager',
    'Software Engineer',
    '',
  ])('is not %s', (title) => {
    expect(workOf(title).isSideRole).toBe(false)
  })
})
