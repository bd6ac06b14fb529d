/** Short forms of titles, each with its long form: the same title, level and field. */

import { describe, expect, it } from 'vitest'
import { compareTitles } from '../../src/titles/compare.ts'
import { understandTitle } from '../../src/titles/understand.ts'

const SHORT_AND_LONG = `
  VP Eng = Vice President of Engineering
  VP, Eng. = VP Engineering
  V.P. of Eng = Vice President, Engineering
  Head of Eng = Head of Engineering
  Dir. of Eng. = Director of Engineering
  Dir., Eng = Engineering Director
  Eng. Mgr. = Engineering Manager
  Eng Lead = Engineering Lead
  Sr. Eng. = Senior Engineer
  Jr. Eng. = Junior Engineer
  Staff Eng. = Staff Engineer
  Princ. Eng. = Principal Engineer
  Sr. Engr = Senior Engineer
  Software Eng. II = Software Engineer 2
  Sr. SW Eng. = Senior Software Engineer
  S/W Engineer = Software Engineer
  Softw. Dev. = Software Developer
  Full-Stack Dev. = Full Stack Developer
  Web Dev = Web Developer
  Lead Dev. = Lead Developer
  Mech. Eng. = Mechanical Engineer
  Elec. Eng. = Electrical Engineer
  Civ. Engr. = Civil Engineer
  Chem. Eng. = Chemical Engineer
  Struct. Eng. = Structural Engineer
  Env. Eng. = Environmental Engineer
  Ind. Eng. = Industrial Engineer
  Nucl. Engr. = Nuclear Engineer
  Biomed. Eng. = Biomedical Engineer
  Mfg. Eng. = Manufacturing Engineer
  Mfg Mgr = Manufacturing Manager
  Dir. Mfg. Ops = Director of Manufacturing Operations
  Qual. Eng. = Quality Engineer
  QA Mgr. = Quality Assurance Manager
  QC Insp. = Quality Control Inspector
  Proc. Eng. = Process Engineer
  Sys. Admin = Systems Administrator
  Sys Eng = Systems Engineer
  Netw. Eng. = Network Engineer
  Network Admin. = Network Administrator
  DB Admin = DB Administrator
  Sec. Eng. = Security Engineer
  Info. Sec. Analyst = Information Security Analyst
  Dir., Info. Sec. = Director of Information Security
  IT Mgr. = IT Manager
  Dir., Info. Tech. = Director of Information Technology
  Tech. Supp. Spec. = Technical Support Specialist
  Tech. Writer = Technical Writer
  Soln. Architect = Solution Architect
  Solutions Arch. = Solutions Architect
  Data Arch. = Data Architect
  Telecom Engr. = Telecommunications Engineer
  Dir. of Fin. = Director of Finance
  Dir. of Fin. = Finance Director
  Fin. Dir. = Finance Director
  Fin. Mgr. = Finance Manager
  VP Fin. = VP Finance
  Fin. Analyst = Financial Analyst
  Sr. Fin. Anlst. = Senior Financial Analyst
  Fin. Advsr. = Financial Advisor
  Chief Fin. Officer = CFO
  Acctg. Mgr. = Accounting Manager
  Mgr, Acctg = Accounting Manager
  Acct. Clk. = Accounting Clerk
  Jr. Acct. = Junior Accountant
  Staff Acct. = Staff Accountant
  Sr. Acctnt. = Senior Accountant
  Acct. Mgr. = Account Manager
  Acct. Exec. = Account Executive
  Natl. Acct. Mgr. = National Account Manager
  Key Acct. Mgr. = Key Account Manager
  A/P Clerk = Accounts Payable Clerk
  Aud. Mgr. = Audit Manager
  Sr. Aud. = Senior Auditor
  Treas. Analyst = Treasury Analyst
  Cred. Analyst = Credit Analyst
  Inv. Analyst = Investment Analyst
  Inv. Control Spec. = Inventory Control Specialist
  Ins. Agt. = Insurance Agent
  Mort. Advisor = Mortgage Advisor
  Undrwr. = Underwriter
  Bkkpr. = Bookkeeper
  Budget Anlst = Budget Analyst
  VP Ops = Vice President of Operations
  Exec. VP Ops = Executive Vice President, Operations
  Dir. of Ops. = Director of Operations
  Ops. Mgr. = Operations Manager
  Oper. Mgr. = Operations Manager
  Mach. Oper. = Machine Operator
  Equip. Opr. = Equipment Operator
  Bus. Ops. Mgr. = Business Operations Manager
  Plant Mgr = Plant Manager
  Prod. Supv. = Production Supervisor
  Prod. Mgmt. Dir. = Product Management Director
  Sr Dir Prod Mgmt = Senior Director of Product Management
  Prod. Owner = Product Owner
  Prod. Designer = Product Designer
  Prod. Planner = Production Planner
  Maint. Tech. = Maintenance Technician
  Maint. Supv. = Maintenance Supervisor
  Maint. Mech. = Maintenance Mechanic
  Fac. Mgr. = Facilities Manager
  Facil. Coord. = Facilities Coordinator
  Constr. Mgr. = Construction Manager
  Proj. Mgr. = Project Manager
  Proj. Coord. = Project Coordinator
  Sr. Proj. Engr. = Senior Project Engineer
  Prog. Mgr. = Program Manager
  Sr. Prog. Mgr. = Senior Program Manager
  Pgm Mgr = Program Manager
  Jr. Prog. = Junior Programmer
  Reg. Sales Mgr. = Regional Sales Manager
  Reg. Dir. = Regional Director
  Reg'l Mgr = Regional Manager
  Dist. Mgr. = District Manager
  Terr. Mgr. = Territory Manager
  Br. Mgr. = Branch Manager
  Intl. Sales Mgr. = International Sales Manager
  Int'l Sales Dir. = International Sales Director
  Nat'l Sales Mgr. = National Sales Manager
  Natl. Sales Dir. = National Sales Director
  Glob. Mktg. Dir. = Global Marketing Director
  Corp. Counsel = Corporate Counsel
  Gen. Counsel = General Counsel
  Gen. Mgr. = General Manager
  Sales Rep. = Sales Representative
  Sales Assoc. = Sales Associate
  Sales Exec. = Sales Executive
  Sales Coord. = Sales Coordinator
  Bus. Dev. Mgr. = Business Development Manager
  BizDev Mgr = Business Development Manager
  VP, Bus. Dev. = VP Business Development
  Head of Bus Dev = Head of Business Development
  Sr Mgr Bus Dev = Senior Manager, Business Development
  Bus. Analyst = Business Analyst
  Bus. Intel. Analyst = Business Intel Analyst
  Mktg. Mgr. = Marketing Manager
  Mktg Coord. = Marketing Coordinator
  Mktg. Spec. = Marketing Specialist
  Assoc. Dir. Mktg = Associate Director of Marketing
  Chief Mktg. Officer = CMO
  Mkt. Research Analyst = Market Research Analyst
  Head of Mktg & Comms = Head of Marketing and Communications
  Comms. Mgr. = Communications Manager
  Dep. Dir. Comms = Deputy Director of Communications
  Corp. Comms. Mgr. = Corporate Communications Manager
  Pub. Rel. Mgr. = Public Relations Manager
  Pub. Aff. Officer = Public Affairs Officer
  Govt. Aff. Dir. = Government Affairs Director
  Adv. Mgr. = Advertising Manager
  Merch. Mgr. = Merchandising Manager
  Cust. Svc. Rep. = Customer Service Representative
  Mgr., Cust. Svc. = Customer Service Manager
  Cust. Success Mgr. = Customer Success Manager
  Cust. Supp. Spec. = Customer Support Specialist
  HR Dir. = HR Director
  Mgr. HR = Human Resources Manager
  VP HR = Vice President, Human Resources
  HR Coord. = HR Coordinator
  Asst. Dir., HR = Assistant Director of Human Resources
  Talent Acq. Spec. = Talent Acquisition Specialist
  Trng. Mgr. = Training Manager
  Trng & Dev Spec = Training and Development Specialist
  Comp. & Ben. Mgr. = Compensation and Benefits Manager
  Recr. Coord. = Recruiting Coordinator
  Recr. Mgr. = Recruiting Manager
  Legal Asst. = Legal Assistant
  Assoc. Counsel = Associate Counsel
  Asst. Gen. Counsel = Assistant General Counsel
  Staff Atty. = Staff Attorney
  Compl. Officer = Compliance Officer
  Reg. Aff. Mgr. = Regulatory Affairs Manager
  Legal Sec. = Legal Secretary
  Purch. Mgr. = Purchasing Manager
  Purch. Agt. = Purchasing Agent
  Procurement Spec. = Procurement Specialist
  Logist. Coord. = Logistics Coordinator
  Whse. Mgr. = Warehouse Manager
  Whse Supv = Warehouse Supervisor
  Distr. Mgr. = Distribution Manager
  Transp. Coord. = Transportation Coordinator
  Matls. Mgr. = Materials Manager
  Supply Chain Mgr. = Supply Chain Manager
  Res. Assoc. = Research Associate
  Research Sci. = Research Scientist
  Sr. Sci. = Senior Scientist
  Res. Asst. = Research Assistant
  Lab Tech. = Laboratory Technician
  Clin. Research Assoc. = Clinical Research Associate
  Med. Asst. = Medical Assistant
  Med. Dir. = Medical Director
  Pharm. Tech. = Pharmacy Technician
  Clin. Pharm. = Clinical Pharmacist
  Reg. Nurse = Registered Nurse
  RN = Registered Nurse
  Nurs. Asst. = Nursing Assistant
  Nsg. Supv. = Nursing Supervisor
  Phys. Therapist = Physical Therapist
  Occ. Ther. = Occupational Therapist
  Resp. Therapist = Respiratory Therapist
  Vet. Tech. = Veterinary Technician
  Dent. Asst. = Dental Assistant
  Asst. Prof. = Assistant Professor
  Assoc. Prof. = Associate Professor
  Adj. Prof. = Adjunct Professor
  Dir. of Educ. = Director of Education
  Spec. Ed. Teacher = Special Education Teacher
  Asst. Princ. = Assistant Principal
  Admin. Asst. = Administrative Assistant
  Exec. Asst. = Executive Assistant
  Exec. Sec. = Executive Secretary
  Admin. Coord. = Administrative Coordinator
  Office Mgr. = Office Manager
  Office Admin = Office Administrator
  Recpt. = Receptionist
  Exec. Dir. = Executive Director
  Mng. Dir. = Managing Director
  Dep. Dir. = Deputy Director
  Asst. Mgr. = Assistant Manager
  Asst VP, Ops = Assistant Vice President of Operations
  Chf. of Staff = Chief of Staff
  Sr. Mgr. = Senior Manager
  Supt. of Schools = Superintendent of Schools
  Graph. Des. = Graphic Designer
  Graphic Dsgnr. = Graphic Designer
  Sr. Dsgn. Mgr. = Senior Design Manager
  Soc. Worker = Social Worker
  Hskpg. Supv. = Housekeeping Supervisor
  Rest. Mgr. = Restaurant Manager
  Tm. Ldr. = Team Leader
  Strat. Plng. Mgr. = Strategy Planning Manager
  Dir. Strat. = Director of Strategy
  Corp. Dev. Mgr. = Corporate Development Manager
  Elem. Teacher = Elementary Teacher
  Univ. Lecturer = University Lecturer
  Fld. Svc. Tech. = Field Service Technician
  Svc. Mgr. = Service Manager
  Insp. = Inspector
  R&D Mgr. = Research and Development Manager
  Dir., R and D = Director of R&D
  L&D Spec. = Learning and Development Specialist
  F&B Mgr. = Food & Beverage Manager
  FP&A Mgr. = Financial Planning & Analysis Manager
  Sales &amp; Mktg. Mgr. = Sales and Marketing Manager
  R&amp;D Engineer = R&D Engineer
  Children&#39;s Librarian = Children's Librarian
  Engineering&nbsp;Manager = Engineering Manager
  Directeur g&eacute;n&eacute;ral = Directeur général
  Produktmanager (m/w/d) = Produktmanagerin
  Stellv. Leiter Einkauf = Stellvertretender Leiter Einkauf
  Abt.-Leiter Einkauf = Abteilungsleiter Einkauf
  Resp. RH = Responsable RH
  Gte. de Ventas = Gerente de Ventas
  Aux. Administrativo = Auxiliar Administrativo
  Téc. de Mantenimiento = Técnico de Mantenimiento
  Head of TA = Head of Talent Acquisition
  TA Partner = Talent Acquisition Partner
  Dir., TA = Director of Talent Acquisition
  VP, CS = VP Customer Success
  Head of IR = Head of Investor Relations
  CI Mgr. = Continuous Improvement Manager
  LP Mgr = Loss Prevention Manager
  RevOps Mgr = Revenue Operations Manager
  BizOps Lead = Business Operations Lead
  MarCom Mgr. = Marketing Communications Manager
  Dir. SCM = Director, Supply Chain Management
  Sr. PgM = Senior Program Manager
  IB Analyst = Investment Banking Analyst
  Sr. RM = Senior Relationship Manager
  Sr. UXR = Senior User Experience Researcher
  Sr. MLE = Senior Machine Learning Engineer
  Nurse Pract. = Nurse Practitioner
  Physio = Physiotherapist
  Ltg. Einkauf = Leitung Einkauf
`

const pairs = SHORT_AND_LONG.trim()
  .split('\n')
  .map((line) => line.trim().split(' = ') as [string, string])

describe('a title in short forms', () => {
  it('is the same title spelled out: of 274, at least 97 % are a retitle by the first rule', () => {
    expect(pairs.length).toBeGreaterThanOrEqual(250)
    const others = pairs.filter(([short, long]) => {
      const there = compareTitles(short, long)
      const back = compareTitles(long, short)
      return ![there, back].every(({ label, rule }) => label === 'retitle' && rule === 'same_words')
    })
    expect(others.length / pairs.length, others.join('; ')).toBeLessThanOrEqual(0.03)
  })

  it('has the level and the field of work of the title spelled out', () => {
    const said = (title: string) => {
      const { level, rank, isManagement, function: name } = understandTitle(title)
      return [level, rank, isManagement, name].join(' ')
    }
    const others = pairs.filter(([short, long]) => said(short) !== said(long))
    expect(others.length / pairs.length, others.join('; ')).toBeLessThanOrEqual(0.03)
  })

  it.each([
    ['Sales &amp; Marketing Manager', 'Sales & Marketing Manager'],
    ['Sales &amp;amp; Marketing Manager', 'Sales & Marketing Manager'],
    ['Children&#39;s Nurse', "Children's Nurse"],
    ['Children&#x27;s Nurse', "Children's Nurse"],
    ['Engineering&nbsp;Manager', 'Engineering Manager'],
    ['Gesch&auml;ftsf&uuml;hrer', 'Geschäftsführer'],
    ['R&#0;&#x110000;D', 'R&#0;&#x110000;D'],
  ])('is read without the entities of a page: %s', (written, meant) => {
    expect(understandTitle(written)).toEqual(understandTitle(meant))
  })

  it.each([
    ['VP Eng', 'engineering', 'engineering management'],
    ['Sr. Eng.', 'engineering', 'engineer'],
    ['Acct. Mgr.', 'sales', 'account manager'],
    ['Jr. Acct.', 'finance', 'accountant'],
    ['Prod. Supv.', 'operations', 'production management'],
    ['Prod. Mgmt. Dir.', 'product', 'product management'],
    ['Bus Driver', 'supply_chain', 'bus driver'],
    ['Machine Op', 'operations', 'machine operator'],
    ['Construction PM', 'operations', 'construction project manager'],
    ['Technical PM', 'product', 'technical product manager'],
    ['Sup. de Vendas', 'sales', 'sales management'],
    ['Sup. Engineer', 'customer_success', 'support engineer'],
    ['Eng. Civil', 'engineering', 'engineer civil'],
    ['Eng. Director', 'engineering', 'engineering management'],
    ['Gł. księgowy', 'finance', 'accountant'],
    ['GL Accountant', 'finance', 'gl accountant'],
    ['Anlagenmechaniker SHK (m/w/d)', 'operations', 'plumber'],
    ['SHK am Lehrstuhl', 'research', 'research assistant lehrstuhl'],
    ['Chef des ventes', 'sales', 'sales management'],
  ])('means what its neighbours say: %s is of %s', (title, name, core) => {
    expect(understandTitle(title)).toMatchObject({ function: name, core })
  })
})

describe('the same title in other letters', () => {
  it.each([
    'SENIOR ENGINEER; senior engineer; Senior  Engineer.; Senior-Engineer; Sr Engineer; Ｓenior Engineer',
    'Director of Finance; Director, Finance; Finance Director; Director - Finance; DIRECTOR (FINANCE)',
    'Engineer II; Engineer 2; Engineer Level II; Engineer Level 2',
    'Sales & Marketing Manager; Sales and Marketing Manager; Marketing/Sales Manager; Sales + Marketing Manager',
    'Vertriebsleiter; Vertriebsleiterin; Vertriebsleiter (m/w/d); Vertriebsleiter/in; Vertriebsleiter*in',
    'Chef de projet; Cheffe de projet; Chef(fe) de projet; CHEF DE PROJET (H/F)',
    'Co-Founder & CEO; Cofounder and CEO; CEO, Co-founder; CEO/Co-Founder',
  ])('is a retitle before any other rule: %s', (titles) => {
    const [first = '', ...others] = titles.split('; ')
    for (const other of others)
      expect([other, compareTitles(first, other)]).toMatchObject([
        other,
        { label: 'retitle', rule: expect.stringMatching(/^(?:same_words|gender)$/) },
      ])
  })
})
