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
      'Product Manager Intern; Werkstudent (m/w/d) IT; Becaria de Finanzas; インターン',
    ],
    ['entry', false, 'Junior Developer; Assistant to the CEO; Auxiliar de Produção; Assistenzarzt'],
    ['mid', false, 'Product Manager; Staff Accountant; Développeuse; Projektleiterin; 软件工程师'],
    ['senior', false, 'Sr. Software Engineer; Audit Senior; Senior-Entwickler; Of Counsel'],
    ['lead', false, 'Staff Software Engineer; Professor; Chief Engineer; Architecte logiciel'],
    ['lead', true, 'Team Lead; Teamleiter_in IT Services; Chef d’équipe; Police Sergeant'],
    ['manager', true, 'Senior Manager, FP&A; Assistant Manager; Küchenchef; Gerente de Marketing'],
    ['director', true, 'Head of Legal; (Interim) Director of Design; DRH; Leiter Einkauf; Dean'],
    ['director', false, 'Chief of Staff; Chief of Staff to the CEO; Deputy Chief of Staff'],
    ['vp', true, 'VP Ops; V.P. Operations; Wiceprezes; VP of Sales and General Manager'],
    ['cxo', true, 'C.E.O.; Geschaeftsfuehrer; Directeur général; Law Firm Partner; SVP & CFO'],
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

  it('reads 8 titles by what the person is, not by whom they work for, what they belong to or what they were', () => {
    expect(levelOf('Executive Business Partner to VP of Product')).toBe('mid')
    expect(levelOf('CEO Office Manager')).toBe('manager')
    expect(levelOf('Staff Assistant, Office of the President')).toBe('entry')
    expect(levelOf('Director of Nurses and Physicians')).toBe('director')
    expect(levelOf('Assistenz der Geschäftsführung')).toBe('entry')
    expect(levelOf('Lead Generation Specialist')).toBe('mid')
    expect(levelOf('Senior Living Coordinator')).toBe('mid')
    expect(levelOf('Product Manager (ex-founder)')).toBe('mid')
  })

  it.each([
    [
      'general',
      'Intern; Junior Engineer; Engineer II; Senior Engineer; Team Lead; Director; VP; CEO',
    ],
    ['expert', 'Senior Engineer; Staff Engineer; Principal Engineer; Distinguished Engineer'],
    ['vice presidents', 'Assistant Vice President; VP; Senior Vice President; EVP'],
    ['directors', 'Assistant Director; Associate Director; Director; Senior Director'],
    [
      'university',
      'PhD Student; Postdoc; Assistant Professor; Associate Professor; Professor; Dean',
    ],
    ['law', 'Trainee Solicitor; Associate Attorney; Attorney; Of Counsel; Partner'],
    ['nursing', 'Nursing Assistant; Registered Nurse; Senior Nurse; Charge Nurse; Nurse Manager'],
    ['Brazil', 'Estagiário; Analista Júnior; Analista Pleno; Analista Sênior; Gerente; Diretora'],
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

  it('reads a title of 10,000 characters by its beginning', () => {
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
    'reads %s as %s, rank %i: an assistant is not the person that they assist',
    (title, level, rank) => {
      expect(understandTitle(title)).toMatchObject({ level, rank })
    },
  )

  it.each(
    'Former CEO; Retired CEO; Past President; President-elect; (ex) CEO; Future CEO; Aspiring CEO; CEO (until 2020); President Emeritus; Former VP, Marketing'.split(
      '; ',
    ),
  )('leaves the level of %s unknown, rank null: it is of the past or the future', (title) => {
    expect(understandTitle(title)).toMatchObject({ level: 'unknown', rank: null })
  })

  it.each([
    ['Internship Coordinator', 18],
    ['Graduate Recruiter', 18],
    ['Apprenticeship Manager', 58],
    ['Trainee Manager', 7],
  ])('reads %s at rank %i: a person who supervises learners is not one', (title, rank) => {
    expect(understandTitle(title).rank).toBe(rank)
  })
})

describe('the field of work', () => {
  it.each([
    ['engineering', 'Backend Engineer, Marketing; Testingenieurin; CTO'],
    ['product', 'Senior Product Manager; Chef de produit; Produktmanagerin'],
    ['data', 'Data Analyst, Finance; Analista de datos; BI Developer; Statisticien'],
    ['marketing', 'Product Marketing Manager; Chargée de communication; Event Coordinator; PMM'],
    ['finance', 'Director, FP&A; Steuerberater; Contador; Investment Banking Analyst'],
    ['operations', 'Project Manager; Schweißer; Store Manager; Agent d’entretien; Albañil'],
    ['healthcare', 'Nurse Manager; Zahnärztin; Aide-soignante; Fisioterapeuta'],
    ['operations', 'Loodgieter; Falegname; Murarz; Rörmokare; Capo cantiere; Bedrijfsleider'],
    ['supply_chain', 'Heftruckchauffeur; Corriere; Spedytor; Brevbärare; Postino'],
    ['healthcare', 'Fysiotherapeut; Ostetrica; Położna; Tandläkare; Physio; GP'],
    ['finance', 'Belastingadviseur; Assicuratore; Aktuariusz; Bankrådgivare'],
    ['hr', 'Head of TA; Hoofd P&O; Rekryterare; Head of C&B'],
    ['general_management', 'Founder & CTO; Chief of Staff; Geschäftsführer; Head of Strategy'],
  ])('is %s for %j', (name, titles) => {
    for (const title of titles.split('; '))
      expect(understandTitle(title).function, title).toBe(name)
  })

  it.each([
    ['Software Sales Manager', 'sales'],
    ['Sales Operations Manager', 'sales'],
    ['Recruiter, Engineering', 'hr'],
    ['Account Executive for Hospitals', 'sales'],
    ['IT Support Engineer', 'it'],
    ['Nurse Recruiter', 'hr'],
  ])('of one noun phrase in %s is what a person does: %s', (title, name) => {
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

describe('a role alongside a main job', () => {
  it.each([
    [true, 'Board Member; Angel Investor; Non-Executive Director; Mentor; Advisor to the Board'],
    [false, 'Board Member & CEO; Financial Advisor; Investor Relations Manager; Engineer'],
  ])('is %j for %s', (isSideRole, titles) => {
    for (const title of titles.split('; '))
      expect(understandTitle(title).isSideRole, title).toBe(isSideRole)
  })
})
