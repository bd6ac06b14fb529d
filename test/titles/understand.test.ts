import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LEVELS } from '../../src/titles/taxonomy.ts'
import { understandTitle } from '../../src/titles/understand.ts'

const levelOf = (title: string) => understandTitle(title).level

describe('understandTitle', () => {
  it.each([
    [
      'intern',
      false,
      'Software Engineer Intern; Werkstudent (m/w/d) IT; Stagiaire; Becaria de Finanzas; Estagiário; Product Manager Intern; Marketing Manager (Intern); Praktikum im Bereich Vertrieb; Stażysta; インターン',
    ],
    [
      'entry',
      false,
      'Junior Developer; Associate Consultant; Graduate Trainee; Vertriebsassistentin; Analista Júnior; Auxiliar de Produção; Assistant to the CEO; Staff Assistant; Software Engineer I; Juniorberater (m/w/d); Trainee Store Manager; Alternance - Chargé de communication; Assistenzarzt; Analyst, Investment Banking; FIREFIGHTER-EMT (RECRUIT)',
    ],
    [
      'mid',
      false,
      'Software Engineer; Account Manager; Product Manager; Executive Assistant to the CEO; Staff Accountant; Softwareentwickler (m/w/d); Développeuse; Chargée de Recrutement; Ingeniera de Datos; Desenvolvedor; Physician Assistant; Assistant Professor; Projektleiterin; Chef de projet; Jefa de Proyecto; Public Health Nurse II; Sjuksköterska; Programista; 软件工程师; HR Business Partner',
    ],
    [
      'senior',
      false,
      'Senior Product Manager; Sr. Software Engineer; Développeur senior; Associate Professor; Audit Senior; Desenvolvedora Sênior; Engineer, Senior; Senior-Entwickler; Starszy Specjalista; Of Counsel; Senior Administrative Assistant; 高级工程师',
    ],
    [
      'lead',
      false,
      'Staff Software Engineer; Principal Consultant; Lead Data Engineer; Software Architect at Trifork; Professor; Tech Lead; Chief Engineer; PRINCIPAL PROGRAMMER/ANALYST; Design Lead; Architecte logiciel; Universitätsprofessorin',
    ],
    [
      'lead',
      true,
      'Team Lead; Teamleiter_in IT Services; Teamleiterin Einkauf; Senior Support Engineer, Team Lead; Police Sergeant; Chef d’équipe; Charge Nurse; Ploegleider',
    ],
    [
      'manager',
      true,
      'Engineering Manager; Senior Manager, FP&A; Assistant Manager; Store Manager; Filialleiter; Responsable commercial; Gerente de Marketing; Jefa de Ventas; Nurse Manager; Assistant Principal, Middle School; Police Lieutenant; Küchenchef; Kierownik działu; Foreman; General Manager',
    ],
    [
      'director',
      true,
      'Director, FP&A; Head of Legal; Associate Director of Finance; Abteilungsleiterin Controlling; Directrice des partenariats; Diretora de Vendas; (Interim) Director of Design; Leiter Einkauf; DRH; Dean; Editor-in-Chief',
    ],
    ['director', false, 'Chief of Staff; Chief of Staff to the CEO; Deputy Chief of Staff'],
    [
      'vp',
      true,
      'VP Ops; SVP of Engineering; Assistant Vice President - Procurement; Vice-presidente de Marketing; V.P. Operations; VP of Sales and General Manager; Wiceprezes',
    ],
    [
      'cxo',
      true,
      'CEO; C.E.O.; Chief Marketing and Strategy Officer; Founder & CEO; Managing Director; Geschäftsführerin; Geschaeftsfuehrer; Directeur général; Consejero delegado; Fundadora; Law Firm Partner; Partner, Corporate & Securities Group; Prezes Zarządu; SVP & CFO; 代表取締役社長',
    ],
  ] as const)('reads %s (management: %s) in: %s', (level, isManagement, titles) => {
    for (const title of titles.split('; ')) {
      expect(understandTitle(title), title).toMatchObject({ level, isManagement })
    }
  })

  it.each(
    'Open-source contributor|Wizard of Light||—|株式会社|II|Staff|Student|Retired|Self-employed|Computer|N/A|October 1, 2024|\0'.split(
      '|',
    ),
  )('abstains from %j', (title) => {
    expect(understandTitle(title)).toMatchObject({
      level: 'unknown',
      rank: null,
      isManagement: null,
      rule: 'unknown',
      confidence: 0,
    })
  })

  it('reads 8 titles by who the person is, not by whom they work for, what they belong to or were', () => {
    expect(levelOf('Executive Business Partner to VP of Product')).toBe('mid')
    expect(levelOf('CEO Office Manager')).toBe('manager')
    expect(levelOf('Staff Assistant, Office of the President')).toBe('entry')
    expect(levelOf('Director of Nurses and Physicians')).toBe('director')
    expect(levelOf('Assistenz der Geschäftsführung')).toBe('entry')
    expect(levelOf('Lead Generation Specialist')).toBe('mid')
    expect(levelOf('Senior Living Coordinator')).toBe('mid')
    expect(levelOf('Product Manager (ex-founder)')).toBe('mid')
  })

  it('is less sure of a profession told by its ending, a field alone or the third step of a ladder', () => {
    const sure = (title: string) => understandTitle(title).confidence
    expect(understandTitle('Glass Bevelmetrist').rule).toBe('profession_ending')
    expect(understandTitle('Marketing').rule).toBe('field')
    expect(understandTitle('Analyst III').rule).toBe('high_step')
    expect(
      Math.max(sure('Glass Bevelmetrist'), sure('Marketing'), sure('Analyst III')),
    ).toBeLessThan(sure('Analyst') - 0.1)
  })

  it.each([
    [
      'general',
      'Intern; Junior Engineer; Engineer; Engineer II; Senior Engineer; Team Lead; Engineering Manager; Senior Engineering Manager; Director of Engineering; Senior Director of Engineering; VP Engineering; CTO; CEO',
    ],
    [
      'expert',
      'Senior Engineer; Lead Engineer; Staff Engineer; Senior Staff Engineer; Principal Engineer; Senior Principal Engineer; Distinguished Engineer',
    ],
    [
      'vice presidents',
      'Assistant Vice President; Vice President; Senior Vice President; Executive Vice President',
    ],
    ['directors', 'Assistant Director; Associate Director; Director; Senior Director'],
    [
      'university',
      'PhD Student; Postdoc; Assistant Professor; Associate Professor; Professor; Dean; Provost',
    ],
    [
      'law',
      'Trainee Solicitor; Associate Attorney; Attorney; Senior Associate; Of Counsel; Partner',
    ],
    [
      'audit',
      'Audit Assistant; Audit Associate; Senior Audit Associate; Assistant Manager; Senior Manager; Audit Partner',
    ],
    [
      'nursing',
      'Nursing Assistant; Registered Nurse; Senior Nurse; Charge Nurse; Nurse Manager; Director of Nursing; Chief Nursing Officer',
    ],
    ['police', 'Police Recruit; Police Officer; Police Sergeant; Police Lieutenant; Police Chief'],
    [
      'retail',
      'Sales Associate; Cashier; Shift Leader; Assistant Store Manager; Store Manager; Regional Manager',
    ],
    [
      'Brazil',
      'Estagiário; Analista Júnior; Analista; Analista Pleno; Analista Sênior; Gerente; Diretora; Vice-presidente; Diretor Presidente',
    ],
  ])(
    'ranks the %s ladder in its order, each step 2 or more above the one before: %s',
    (_, ladder) => {
      const ranks = ladder.split('; ').map((title) => understandTitle(title).rank ?? Number.NaN)
      const steps = ranks.slice(1).map((rank, index) => rank - (ranks[index] ?? 0))
      expect(
        steps.every((step) => step >= 2),
        ranks.join(' '),
      ).toBe(true)
    },
  )

  it('understands any text the same whatever its case, spaces, accents and width, with a rank exactly when it has a level', () => {
    const words = fc.constantFrom(
      ...'Senior|Director|of|Ingénieur|Leiterin|VP|,|(m/w/d)|/|II|to|Häuser|&|.'.split('|'),
    )
    const title = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 60 }),
      fc.array(words, { maxLength: 7 }).map((parts) => parts.join(' ')),
    )
    fc.assert(
      fc.property(title, (text) => {
        const understood = understandTitle(text)
        expect(understandTitle(`  ${text.normalize('NFD').replaceAll(' ', '  ')} `)).toEqual(
          understood,
        )
        expect(understood.rank === null).toBe(understood.level === 'unknown')
        expect(understood.isManagement === null).toBe(understood.level === 'unknown')
        expect(understood.confidence === 0).toBe(understood.level === 'unknown')
      }),
    )
    expect(understandTitle('DÉVELOPPEUR SENIOR')).toEqual(understandTitle('developpeur senior'))
    expect(understandTitle('ＳＥＮＩＯＲ　Ｅｎｇｉｎｅｅｒ')).toEqual(
      understandTitle('senior engineer'),
    )
  })

  it('answers a title of 10,000 characters by how it begins', () => {
    expect(levelOf(`Senior Engineer ${'x'.repeat(10_000)}`)).toBe('senior')
    expect(levelOf('🦄'.repeat(5_000))).toBe('unknown')
  })

  it('keeps the rank of each of 400 random combinations inside the range of its level, in the order of levels', () => {
    const grade = fc.constantFrom(
      ...'|Junior|Senior|Lead|Staff|Principal|Associate|Assistant|Deputy|Interim|Group|Global|Executive|Regional'.split(
        '|',
      ),
    )
    const head = fc.constantFrom(
      ...'Engineer|Manager|Director|Vice President|Professor|Architect|Team Lead|Chief Executive Officer|Intern'.split(
        '|',
      ),
    )
    const lowest = [0, 6, 16, 26, 34, 52, 66, 78, 89, 100]
    fc.assert(
      fc.property(grade, grade, head, (first, second, last) => {
        const { level, rank } = understandTitle(`${first} ${second} ${last}`)
        const at = LEVELS.findIndex((each) => each === level)
        expect(rank).toBeGreaterThanOrEqual(lowest[at] ?? 100)
        expect(rank).toBeLessThan(lowest[at + 1] ?? 0)
      }),
      { numRuns: 400 },
    )
  })

  it.each([
    ['Executive Assistant, CEO', 'mid', 18],
    ['Executive Assistant (CEO)', 'mid', 18],
    ['Executive Assistant / CEO', 'mid', 18],
    ['Executive Assistant supporting CEO', 'mid', 18],
    ['Personal Assistant - Managing Director', 'entry', 9],
    ['Administrative Assistant, Dean', 'entry', 9],
    ['Assistenz (Vorstand)', 'entry', 9],
    ['Secretary, Board of Directors', 'mid', 18],
    ['Chief of Staff, CTO', 'director', 70],
    ['EA / Office Manager', 'manager', 58],
    ['Executive Assistant & Director of Operations', 'director', 72],
    ['Teaching Assistant, Director', 'director', 72],
  ])(
    'reads %s as %s, rank %i: the person an assistant serves is another one',
    (title, level, rank) => {
      expect(understandTitle(title)).toMatchObject({ level, rank })
    },
  )

  it.each(
    'Former CEO; Retired CEO; Past President; President-elect; (ex) CEO; Future CEO; Aspiring CEO; CEO (until 2020); President Emeritus; Former VP, Marketing'.split(
      '; ',
    ),
  )('leaves the level of %s unknown, rank null: it is of another time', (title) => {
    expect(understandTitle(title)).toMatchObject({ level: 'unknown', rank: null })
  })

  it.each([
    ['Professor Emeritus', 44],
    ['Future Mobility Manager', 58],
    ['CEO, Former Engineer', 97],
  ])('still reads %s, rank %i', (title, rank) => {
    expect(understandTitle(title).rank).toBe(rank)
  })

  it.each([
    ['Internship Coordinator', 18],
    ['Graduate Recruiter', 18],
    ['Apprenticeship Manager', 58],
    ['Trainee Manager', 7],
  ])('reads %s at rank %i: who looks after learners is none', (title, rank) => {
    expect(understandTitle(title).rank).toBe(rank)
  })
})

describe('the field of work', () => {
  it.each([
    ['engineering', 'Backend Engineer, Marketing; Testingenieurin; CTO'],
    ['product', 'Senior Product Manager; Chef de produit; Produktmanagerin'],
    ['design', 'UX Researcher; Diseñador gráfico; Modedesignerin; Creative Director'],
    ['data', 'Data Analyst, Finance; Analista de datos; BI Developer; Statisticien'],
    ['it', 'Network Engineer; CISO; Fachinformatiker Systemintegration'],
    ['marketing', 'Product Marketing Manager; Chargée de communication; Event Coordinator; PMM'],
    ['sales', 'Business Development Manager; Vertriebsleiterin; Sales Engineer'],
    ['customer_success', 'Technical Account Manager; Sachbearbeiterin Kundenservice'],
    ['finance', 'Director, FP&A; Steuerberater; Contador; Investment Banking Analyst'],
    ['hr', 'Technical Recruiter; Personalreferentin; Head of People; Analista de RH'],
    ['legal', 'General Counsel; Rechtsanwältin; Compliance Officer; Clerc de notaire'],
    ['operations', 'Project Manager; Schweißer; Store Manager; Agent d’entretien; Albañil'],
    ['supply_chain', 'Truck Driver; Einkäuferin; Magasinier; Warehouse Manager; Motorista'],
    ['research', 'Postdoctoral Fellow; Laborantin; Research Scientist; Geólogo'],
    ['education', 'Math Teacher; Erzieherin; Maître de conférences; School Principal'],
    ['healthcare', 'Nurse Manager; Zahnärztin; Aide-soignante; Fisioterapeuta'],
    ['administration', 'Executive Assistant; Office Manager; Secretária; Data Entry Clerk'],
    ['consulting', 'Management Consultant; Senior Consultant; Berater'],
    ['general_management', 'Founder & CTO; Chief of Staff; Geschäftsführer; Head of Strategy'],
    ['other', 'Police Officer; Sous Chef; Redakteurin; Policy Advisor; Head Coach'],
  ])('is %s for %j', (name, titles) => {
    for (const title of titles.split('; '))
      expect(understandTitle(title).function, title).toBe(name)
  })

  it.each([
    ['Marketing and Sales Manager', 'marketing'],
    ['Sales and Marketing Manager', 'sales'],
    ['IT/Communications Manager', 'it'],
    ['Vice President, Finance and Operations', 'finance'],
  ])('of two fields in %s is the first: %s', (title, name) => {
    expect(understandTitle(title).function).toBe(name)
  })

  it.each([
    ['Software Sales Manager', 'sales'],
    ['Sales Operations Manager', 'sales'],
    ['Recruiter, Engineering', 'hr'],
    ['Account Executive for Hospitals', 'sales'],
    ['IT Support Engineer', 'it'],
    ['Nurse Recruiter', 'hr'],
  ])('of one noun phrase in %s is what somebody does: %s', (title, name) => {
    expect(understandTitle(title).function).toBe(name)
  })

  it.each(['Wizard of Light', '株式会社', '', 'Ninja', 'II'])('is not guessed for %j', (title) => {
    expect(understandTitle(title).function).toBe('unknown')
  })
})

describe('the core role', () => {
  it.each([
    ['software engineer', 'Senior Software Engineer II; Softwareentwicklerin (m/w/d); Programador'],
    ['software engineer', 'Développeur Full-Stack à Beta; Lead React Developer'],
    ['software engineer', 'Software Engineer, Payments; Software Engineer on Code Intelligence'],
    ['recruiter', 'Chargée de recrutement; Talent Acquisition Specialist; Senior Recruiter EMEA'],
    ['product engineer', 'Ingénieur Produit; Product Engineer'],
    ['account executive', 'AE; Senior Account Executive, DACH'],
    ['sales management', 'VP Sales; Vertriebsleiter; Directora de Ventas; Head of Sales, Iberia'],
    ['sales assistant', 'Vertriebsassistentin; Sales Assistant'],
    ['chief executive officer', 'CEO; Chief Executive'],
  ])('is %j for %j', (core, titles) => {
    for (const title of titles.split('; ')) expect(understandTitle(title).core, title).toBe(core)
  })
})

describe('a role beside a main job', () => {
  it.each([
    [true, 'Board Member; Angel Investor; Non-Executive Director; Mentor; Advisor to the Board'],
    [false, 'Board Member & CEO; Financial Advisor; Investor Relations Manager; Engineer'],
  ])('is %j for %s', (isSideRole, titles) => {
    for (const title of titles.split('; '))
      expect(understandTitle(title).isSideRole, title).toBe(isSideRole)
  })
})
