/** Titles and changes of title that were reported as misread, each for a whole class. */

import { describe, expect, it } from 'vitest'
import { compareTitles } from '../../src/titles/compare.ts'
import { understandTitle } from '../../src/titles/understand.ts'

describe('a title that was reported as misread', () => {
  it.each([
    // The person that an assistant works for may come first.
    ["Vice President's Executive Assistant", 'mid', false, 'administration'],
    // An abbreviation that the title spells out means what it says there.
    ['CRO / Chief Risk Officer', 'cxo', true, 'finance'],
    ['CBO', 'cxo', true, 'general_management'],
    ['Ambassador', 'mid', false, 'other'],
    ['Brand Ambassador', 'mid', false, 'marketing'],
    ['Vice President - Equity Research', 'vp', true, 'finance'],
    // Directors of a craft do not direct a department.
    ['Funeral Director', 'mid', false, 'operations'],
    ['Film Director', 'mid', false, 'other'],
    ['Music Director', 'mid', false, 'other'],
    ['Stage Director', 'mid', false, 'other'],
    ['Chief Mate', 'lead', true, 'other'],
    ['Under Secretary', 'cxo', true, 'other'],
    ['Cadre supérieur', 'manager', true, 'other'],
    ['Leitender Angestellter', 'manager', true, 'other'],
    ['ex-Google Software Engineer', 'mid', false, 'engineering'],
    ['主任研究員', 'senior', false, 'research'],
    ['Головний бухгалтер', 'manager', true, 'finance'],
    ['エンジニアリングマネージャー', 'manager', true, 'engineering'],
    ['ドライバー', 'mid', false, 'supply_chain'],
    // The job is to find new graduates.
    ['新卒採用担当', 'mid', false, 'hr'],
    ['GP Partner', 'cxo', true, 'healthcare'],
    ['Foundation Year 2 Doctor', 'entry', false, 'healthcare'],
    ['Research Software Engineer', 'mid', false, 'engineering'],
    ['Compliance Monitoring Officer', 'mid', false, 'legal'],
    ['Police Community Support Officer', 'mid', false, 'other'],
    ['Délégué pharmaceutique', 'mid', false, 'sales'],
    ['Trustee Services Manager', 'manager', true, 'finance'],
    ['アルバイト', 'mid', false, 'operations'],
    // German and Dutch controllers are analysts; only "Financial Controller" is one of a kind everywhere.
    ['Controller', 'mid', false, 'finance'],
    ['Financial Controller', 'manager', true, 'finance'],
    // One wrong letter in a common word; "managed" and "former" are other words.
    ['Porject Manager', 'mid', false, 'operations'],
    ['Managing Dircector', 'cxo', true, 'general_management'],
    ['Marketting Manager', 'manager', true, 'marketing'],
    // A field of work, but no person.
    ['Product Development', 'mid', false, 'product'],
    ['Legal Services', 'mid', false, 'legal'],
    // Offices in Latin letters behind others.
    ['取締役CFO', 'cxo', true, 'finance'],
    ['執行役員CTO', 'cxo', true, 'engineering'],
    ['代表取締役CEO', 'cxo', true, 'general_management'],
    ['支店長', 'manager', true, 'operations'],
    ['车间主任', 'manager', true, 'operations'],
    ['住院医师', 'entry', false, 'healthcare'],
    ['Lekarz rezydent', 'entry', false, 'healthcare'],
    ['Interne en médecine', 'entry', false, 'healthcare'],
    ['Medico primario', 'director', true, 'healthcare'],
    ['Insegnante di scuola primaria', 'mid', false, 'education'],
    ['Wspólnik', 'cxo', true, 'general_management'],
    ['Aplikant radcowski', 'entry', false, 'legal'],
    ['Oberkommissar', 'mid', false, 'other'],
    ['Adm. dir.', 'cxo', true, 'general_management'],
    ['Pen Tester', 'mid', false, 'it'],
    // A field of work and an employer.
    ['Product @ Northwind', 'mid', false, 'product'],
    ['Sales @ Contoso | ex-Oracle', 'mid', false, 'sales'],
    ['Student @ MIT', 'unknown', null, 'other'],
    ['Partner Success Manager', 'mid', false, 'customer_success'],
    // One post whose words share an end.
    ['Assistent der Vertriebs- und Marketingleitung', 'entry', false, 'sales'],
    // Words behind an English job say where it is done.
    ['Design Director Industry', 'director', true, 'design'],
    // Of two jobs the first one counts where the job stands before its field.
    ['Vendeuse en boulangerie', 'mid', false, 'sales'],
    // What a job is about may stand behind a comma, or before it with an "and".
    ['Technician, Avionics', 'mid', false, 'operations'],
    ['Analyst, Data', 'mid', false, 'data'],
    ['Consultant (Student Work)', 'mid', false, 'consulting'],
    ['Electronics and Automation Teacher', 'mid', false, 'education'],
    ['Business and Marketing Teacher', 'mid', false, 'education'],
    ['VP Sales & Member of the Board', 'cxo', true, 'sales'],
    // Two words that mean another field together.
    ['Account Payable Specialist', 'mid', false, 'finance'],
    ['Stock Broker', 'mid', false, 'finance'],
    ['Digital Asset Manager', 'mid', false, 'marketing'],
    ['Interlibrary Loan Specialist', 'mid', false, 'education'],
    ['School Resource Officer', 'mid', false, 'other'],
    ['User Acquisition Manager', 'manager', true, 'marketing'],
    ['Support Operations Manager', 'manager', true, 'customer_success'],
    ['Clinical Laboratory Scientist', 'mid', false, 'healthcare'],
    ['Production Controller', 'mid', false, 'operations'],
    ['Child Protective Services Worker', 'mid', false, 'healthcare'],
    // Scientists whose field no list holds.
    ['Helminthologist', 'mid', false, 'research'],
    ['Paläontologin', 'mid', false, 'research'],
    ['Sismólogo', 'mid', false, 'research'],
    // Endings of another trade.
    ['Raumpflegerin', 'mid', false, 'operations'],
    ['Schiedsrichter', 'mid', false, 'other'],
    ['Bergführer', 'mid', false, 'other'],
    ['Wertpapiermakler', 'mid', false, 'finance'],
    ['Auxiliar de Serviços Gerais', 'entry', false, 'operations'],
    // Jobs of an area are about the field that is named.
    ['Area Manager, Sales', 'manager', true, 'sales'],
    ['Area Manager', 'manager', true, 'operations'],
    // A short form of a post, next to a field.
    ['MD - Insurance', 'cxo', true, 'finance'],
    ['Sr. Partner Manager', 'senior', false, 'sales'],
    // The last word of a job is a technician, in a post or after "in" it is technology.
    ['Nuclear Medicine Tech', 'mid', false, 'healthcare'],
    ['Head of Tech', 'director', true, 'engineering'],
    // Residents of a home, not of a hospital.
    ['Resident Care Coordinator', 'mid', false, 'healthcare'],
    // German adjectives, and Nordic and Dutch compounds that begin with an unknown word.
    ['Leiter der Technischen Dokumentation', 'director', true, 'administration'],
    ['Skolsköterska', 'mid', false, 'healthcare'],
    // The first letters of the words before a bracket only repeat them.
    ['Construction Safety Officer (CSO)', 'mid', false, 'operations'],
    ['Chief Sales Officer (CSO)', 'cxo', true, 'sales'],
    // A list of health, safety and environment is one field.
    ['Vice President, Health, Safety and Security', 'vp', true, 'operations'],
    // Who assists a leader comes first in German; in English the assistant manager manages.
    ['Assistentin Vertriebsleitung', 'entry', false, 'sales'],
    ['Assistenz Leitung Einkauf & Marketing', 'entry', false, 'administration'],
    ['Assistent Manager', 'manager', true, 'other'],
    // Guides and companions of groups, whose German names end like a leader's.
    ['Flugbegleiterin', 'mid', false, 'other'],
    ['Schulbegleiterin', 'mid', false, 'education'],
    ['Reiseleiter', 'mid', false, 'other'],
    ['Gruppenleiter Vertrieb', 'lead', true, 'sales'],
    // "Senioren" are old people, and "intern" is internal in Dutch, "extern" outside in Portuguese.
    ['Seniorenbetreuer', 'mid', false, 'healthcare'],
    ['Seniorberater', 'senior', false, 'consulting'],
    ['Intern accountmanager', 'mid', false, 'sales'],
    ['Vendedora externa', 'mid', false, 'sales'],
    // "Advanced" belongs to the field.
    ['Advanced Manufacturing Engineer', 'mid', false, 'engineering'],
    ['FPGA Developer - Remote Radio Heads', 'mid', false, 'engineering'],
    ['Traffic Warden', 'mid', false, 'other'],
    ['Assistant Chief Engineer', 'lead', false, 'engineering'],
    ['Rechtsanwalt und Partner', 'cxo', true, 'legal'],
    // The office of the person that a secretary works for.
    ['社長秘書', 'mid', false, 'administration'],
    ['总裁秘书', 'mid', false, 'administration'],
    ['医药代表', 'mid', false, 'sales'],
    // Owners only by their ending.
    ['Åklagare', 'mid', false, 'legal'],
    // The product or client of a developer stands behind a comma.
    ['Java Developer, Investments', 'mid', false, 'engineering'],
    ['Senior Business Developer', 'senior', false, 'sales'],
    // One word that means another field in compounds or next to others: control and tax, plants and investments, dealers.
    ['Steuerungstechniker', 'mid', false, 'operations'],
    ['Steuerberater', 'mid', false, 'finance'],
    ['Anlagenbautechniker', 'mid', false, 'operations'],
    ['Anlageberater', 'mid', false, 'finance'],
    ['Autohändler', 'mid', false, 'sales'],
    ['Controlador de plagas', 'mid', false, 'operations'],
    ['Responsable assurance qualité', 'manager', true, 'operations'],
    ['Responsable sécurité incendie', 'manager', true, 'other'],
    ['Merchant Navy Officer', 'mid', false, 'other'],
    ['Legal Cashier', 'mid', false, 'finance'],
    ['Purchase Ledger Manager', 'manager', true, 'finance'],
    // A feminine form whose masculine no list holds.
    ['Biostatisticienne', 'mid', false, 'data'],
    // Everyday jobs of languages that were hardly read.
    ['Likwidator szkód', 'mid', false, 'finance'],
    ['Górnik', 'mid', false, 'operations'],
    ['Addetto al recupero crediti', 'mid', false, 'finance'],
    ['Deurwaarder', 'mid', false, 'legal'],
    ['Skådespelare', 'mid', false, 'other'],
    ['Tilintarkastaja', 'mid', false, 'finance'],
    ['Caminhoneiro', 'mid', false, 'supply_chain'],
    ['Orientador laboral', 'mid', false, 'hr'],
    ['Mécatronicienne', 'mid', false, 'operations'],
    ['Сантехник', 'mid', false, 'operations'],
    ['Шахтар', 'mid', false, 'operations'],
    ['Φυσιοθεραπευτής', 'mid', false, 'healthcare'],
    ['Eczacı', 'mid', false, 'healthcare'],
    ['ケアマネージャー', 'mid', false, 'healthcare'],
    ['은행원', 'mid', false, 'finance'],
    ['电工', 'mid', false, 'operations'],
    ['Nhân viên tổ chức sự kiện', 'mid', false, 'marketing'],
  ])('%s is %s (management: %s, %s)', (title, level, isManagement, name) => {
    expect(understandTitle(title)).toMatchObject({ level, isManagement, function: name })
  })

  it.each(['MD, PhD', 'MD PhD MBA', 'CFA', 'Freelancer', 'Ex CEO', 'ex Director'])(
    'abstains from %s: a degree, a status or a past job is not a job',
    (title) => {
      expect(understandTitle(title)).toMatchObject({ level: 'unknown', confidence: 0 })
    },
  )

  it.each([
    [true, 'Limited Partner; Venture Partner; Member, Board of Trustees; Trustee; Conselheiro'],
    [true, '社外取締役; 사외이사; 独立董事; Независимый директор; عضو مجلس الإدارة; Conselheira'],
    // A chairman without a board may well run the firm.
    [false, 'Chairman; Executive Chairman; Chairman & CEO; 代表取締役; Member of Technical Staff'],
  ])('is a side role (%s) in %s', (isSideRole, titles) => {
    for (const title of titles.split('; '))
      expect(understandTitle(title).isSideRole, title).toBe(isSideRole)
  })

  it('is uncertain of 5 abbreviations with several meanings, and certain of the spelled-out offices', () => {
    for (const title of ['CDO', 'CSO', 'CCO', 'CRO', 'cpo', 'VP & CRO']) {
      expect(understandTitle(title), title).toMatchObject({
        level: 'cxo',
        rule: 'ambiguous_abbreviation',
        confidence: 0.6,
      })
    }
    for (const title of ['CEO', 'Chief Risk Officer', 'CRO (Chief Revenue Officer)']) {
      expect(understandTitle(title).confidence, title).toBe(0.96)
    }
  })

  it.each([
    ['й', 'Майстер із зоряного сяйва'],
    ['ザ', 'ザグレブ'],
    ['グ', 'ゾルグ職人'],
    ['कि', 'किज़्ब'],
    ['ที่', 'ที่ซอร์บ'],
    ['กำ', 'กำซอร์บ'],
  ])('keeps the mark of %s in the core of %s', (letter, title) => {
    expect(understandTitle(title).core).toContain(letter)
  })

  it('removes accents from Latin, Greek and Cyrillic, and vowel points from Hebrew and Arabic', () => {
    expect(understandTitle('ДИРЕКТОР ПО ПРОДАЖАМ').core).toBe('sales management')
    for (const [one, other] of [
      ['Ingénieur', 'INGENIEUR'],
      ['Διευθυντής', 'ΔΙΕΥΘΥΝΤΗΣ'],
      ['стажёр', 'стажер'],
      ['مُحَاسِب', 'محاسب'],
      ['أخصائي تسويق', 'اخصائي تسويق'],
      ['ｴﾝｼﾞﾆｱ', 'エンジニア'],
    ] as const) {
      expect(understandTitle(one), one).toEqual(understandTitle(other))
    }
  })

  it.each([
    ['ar', 'مدير المبيعات; مهندس برمجيات أول; محاسبة; الرئيس التنفيذي; معلمة'],
    ['he', 'מנכ"ל; סמנכ״לית שיווק; מהנדסת תוכנה; ראש צוות; מנהלת משאבי אנוש'],
    ['hi', 'वरिष्ठ अभियंता; शाखा प्रबंधक; शिक्षिका; मुख्य कार्यकारी अधिकारी'],
    ['el', 'Διευθύντρια Πωλήσεων; Λογιστής; Υπεύθυνη Μάρκετινγκ; Δικηγόρος'],
    ['vi', 'Trưởng phòng Nhân sự; Ke toan truong; Kỹ sư phần mềm; Tổng giám đốc'],
    ['uk', 'Начальник відділу продажів; Вчителька; Інженер-програміст; Керівниця'],
    ['id', 'Manajer Pemasaran; Direktur Utama; Guru Matematika; Staf Akuntansi'],
    ['th', 'ผู้จัดการฝ่ายขาย; วิศวกรอาวุโส; กรรมการผู้จัดการ; พยาบาลวิชาชีพ'],
    ['ja, ko, zh', '品質管理部長; 데이터 분석가; 인사팀장; 高级软件工程师; 개발팀장'],
  ])('is read in %s: %s', (_, titles) => {
    for (const title of titles.split('; ')) {
      const { level, core } = understandTitle(title)
      expect(level, title).not.toBe('unknown')
      if (core !== null) expect(core, title).toMatch(/^[a-z ]+$/)
    }
  })

  it('reads an Indonesian word that English uses as a joke only in the Indonesian position', () => {
    expect(understandTitle('Guru Matematika').function).toBe('education')
    expect(understandTitle('Marketing Guru').function).toBe('marketing')
  })
})

describe('a change of title that was reported as misread', () => {
  it.each([
    // Ladders of sales
    ['SDR', 'Account Executive', 'promotion'],
    ['SMB Account Executive', 'Mid-Market Account Executive', 'promotion'],
    ['Mid-Market Account Executive', 'Enterprise Account Executive', 'promotion'],
    ['Account Executive', 'Account Executive, Enterprise', 'promotion'],
    ['Enterprise Account Executive', 'Strategic Account Executive', 'promotion'],
    ['Sr. Account Executive', 'Enterprise Account Executive', 'lateral'],
    ['Enterprise Account Executive', 'Account Executive', 'demotion'],
    // Steps that are written as numbers
    ['L5 Software Engineer', 'L6 Software Engineer', 'promotion'],
    ['Software Engineer L3', 'Software Engineer L4', 'promotion'],
    ['IC4', 'IC5', 'promotion'],
    ['E6', 'E5', 'demotion'],
    ['Band 6 Nurse', 'Band 7 Nurse', 'promotion'],
    ['Senior Engineer II', 'Staff Engineer I', 'promotion'],
    ['Engineer L5', 'Nurse L4', 'demotion'],
    // Ladders of other countries
    ['主任', '係長', 'promotion'],
    ['과장', '차장', 'promotion'],
    ['대리', '사원', 'demotion'],
    ['Analista Sênior', 'Coordenador', 'promotion'],
    ['ведущий инженер', 'главный инженер', 'promotion'],
    ['Müdür Yardımcısı', 'Müdür', 'promotion'],
    // Law and accounting
    ['Paralegal', 'Associate Attorney', 'promotion'],
    ['Senior Paralegal', 'Associate Attorney', 'promotion'],
    ['Accountant', 'Controller', 'promotion'],
    ['Accounting Manager', 'Controller', 'promotion'],
    ['Controller', 'Buchhalter', 'lateral'],
    // No word says that it was a demotion
    ['Senior Financial Analyst', 'Finance Business Partner', 'lateral'],
    ['Senior Financial Analyst', 'Financial Analyst', 'demotion'],
    ['Direktor Produktion', 'Bereichsleiter Vertrieb', 'lateral'],
    ['VP', 'Executive Director', 'lateral'],
    // Posts
    ['Junior Art Director', 'Art Director', 'promotion'],
    ['Junior Associate', 'Associate', 'promotion'],
    ['Office Assistant', 'Junior Office Assistant', 'demotion'],
    ['Bank Teller', 'Teller', 'retitle'],
    ['Art Director', 'Creative Director', 'promotion'],
    ['COO', 'President & COO', 'promotion'],
    ['Freelancer', 'Head of Design', 'unclassified'],
    // One job in two languages
    ['Software Engineer', 'مهندس برمجيات', 'retitle'],
    ['営業部長', 'Head of Sales', 'retitle'],
    ['Бухгалтер', 'Λογίστρια', 'retitle'],
    ['Manajer Pemasaran', 'Marketing Manager', 'retitle'],
    ['高级软件工程师', '初级软件工程师', 'demotion'],
  ])('%s → %s is a %s', (previous, current, label) => {
    expect(compareTitles(previous, current).label).toBe(label)
  })

  it('is uncertain between a head and a vice president of one field', () => {
    expect(compareTitles('VP of Sales', 'Head of Sales').confidence).toBe(0.6)
    expect(compareTitles('Head of Sales', 'VP of Sales').confidence).toBe(0.6)
  })
})
