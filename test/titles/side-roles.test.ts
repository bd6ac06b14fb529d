import { describe, expect, it } from 'vitest'
import { compareTitles } from '../../src/titles/compare.ts'
import { understandTitle } from '../../src/titles/understand.ts'

type Flag = 'isSideRole' | 'isAdvisory' | 'isSeatOfStaff' | 'isHeldBeside'
const wrong = (titles: string, what: Flag, expected: boolean) =>
  titles.split('; ').filter((title) => understandTitle(title)[what] !== expected)

describe('a role alongside a main job', () => {
  it.each([
    'Supervisory Board Member; Chair of the Supervisory Board; Independent Non-Executive Director; NED; Non-Executive Chairman; Member, Board of Trustees; Chair, Audit Committee; Treasurer, Board of Directors; Chair of the Audit and Risk Committee; Alumni Association Board Member; Member of the Youth Advisory Board',
    'School Governor; School Governor (Finance); Chair of Governors; Trustee; Trustee and Treasurer; Lay Member, Audit and Risk Committee; Non-Executive Vice Chairman; Pro Bono Lawyer; Mentor; Startup Mentor / Angel; Angel Investor; Limited Partner; Volunteer; Volunteer Firefighter; Volunteer Software Developer; Council Member; Keynote Speaker',
    'Audit and Risk Committee Chair; Governance & Nominations Committee Member; Diversity and Inclusion Council Member; Mentor and Advisory Board Member',
    'Advisor; Advisor | Investor | Speaker; Advisor & Investor; Advisor to the CEO; Strategic Advisor to the Board; Advisory Board Member; Board Advisor & Angel Investor; Board Member & Strategic Advisor',
    'Aufsichtsrat; Aufsichtsratsmitglied; Mitglied des Beirats; Mitglied des wissenschaftlichen Beirats der ETH; Verwaltungsratspräsident; Präsidentin des Verwaltungsrates; Stiftungsrat; Kassenwart; Administrateur indépendant; Administratrice indépendante; Membre du conseil de surveillance; Bénévole',
    'Consejero independiente; Consejera; Miembro del consejo asesor; Conselheiro; Presidente do Conselho Fiscal; Consigliere di amministrazione; Membro del collegio sindacale; Commissaris; Lid Raad van Commissarissen; Lid van de raad van toezicht',
    'Styrelseledamot; Styrelseordförande; Bestyrelsesmedlem; Bestyrelsesformand; Styremedlem; Hallituksen jäsen; Członek Rady Nadzorczej; Předseda dozorčí rady; Felügyelőbizottsági tag; Yönetim Kurulu Üyesi; Член совета директоров; Член наглядової ради; Μέλος Διοικητικού Συμβουλίου',
    'דירקטורית חיצונית; عضو مجلس الإدارة; स्वतंत्र निदेशक; Komisaris Independen; Thành viên Hội đồng quản trị; กรรมการอิสระ; 社外取締役; 社外監査役; 監査役; 顧問; 사외이사; 감사; 独立董事; 监事',
    'Works Council Member; Mitglied des Aufsichtsrats (Arbeitnehmervertreter); Chair of the Works Council; Betriebsrat; Freigestellter Betriebsrat; Betriebsratsvorsitzender; Staff Council Member; Shop Steward; Union Representative; Délégué syndical; Membre du CSE; Delegado sindical; Lid Ondernemingsraad',
    'Honorary Chairman; Ehrenvorsitzender; Ehrenvorsitzende; Ehrenpräsidentin; Ehrenbürger; Président d’honneur; Presidente onorario; Presidenta de honor; Erevoorzitter',
    'Consigliere di amministrazione indipendente; Treasurer (Volunteer), Food Bank; Coach (volunteer), Berlin',
    'Web Developer (Volunteer); Web Developer - Volunteer; Youth Football Coach (volunteer); Webentwickler (ehrenamtlich); Développeur web (bénévole); Mentor (pro bono)',
  ])('is %s', (titles) => {
    expect(wrong(titles, 'isSideRole', true)).toEqual([])
  })

  it.each([
    'Technical Advisor; Senior Advisor; Special Advisor to the Minister; Advisor to the Minister of Finance; Advisor, Public Affairs; Policy Advisor; Financial Advisor; Tax Advisor; Travel Advisor; Asesor; Conseiller clientèle; Steuerberater; Adviseur; 技術顧問',
    'Clerk; Patron; Community Organizer; Sales Advisor; Board Operator; Board Certified Physician; Board Secretary; Vice President, Board Relations; Board Support Specialist; Governor of the State; Governor of the Bank of England; Deputy Governor, Central Bank; Speaker of the House; Member of the European Parliament; City Council Member; Council Tax Officer; Works Council Lawyer; Union Organizer; Works Manager',
    'Investor Relations Manager; Investment Manager; Open Source Contributor; Volunteer Coordinator; Volunteer Program Manager; Manager (Volunteer Services); Trustee in Bankruptcy; Trustee Services Manager; Corporate Treasurer; Mentor Teacher; Vocal Coach; Panel Beater; General Partner; Chair, Department of Physics; Member of Technical Staff; Executive Chairman',
    'Treasurer (Finance), Food Bank; Developer (remote), Volunteer Services',
    'CTO and Board Member; Engineer & Board Member; Partner and Supervisory Board Member; Professor and Advisory Board Member; HR Manager & Works Council Member; Lawyer and Trustee; CFO e Consigliere di amministrazione; Ingenieur und Betriebsratsmitglied; Directeur financier et administrateur indépendant',
    'Founder, CEO & Board Member; CTO @ Lumen | Advisor; Managing Director & Board Member; Member of the Executive Board; Member of the Management Board; Vorstandsmitglied; Vorsitzender des Verwaltungsrats und CEO; Membre de la direction; Consejero delegado; Lid van de raad van bestuur; Commissaris van politie; 取締役; 常務取締役; 상무이사',
  ])('is none of %s', (titles) => {
    expect(wrong(titles, 'isSideRole', false)).toEqual([])
  })

  it('is one that only the staff can have, on 16 works councils and of unions, but on no other board', () => {
    const some =
      'Works Council Member; Chair of the Works Council; Betriebsrätin; Mitglied des Betriebsrats; Personalratsvorsitzende; Arbeitnehmervertreter im Aufsichtsrat; Shop Steward; Trade Union Representative; Déléguée du personnel; Représentante syndicale; Élu CSE; Miembro del comité de empresa; Delegada sindical; Lid Ondernemingsraad; RSU; Tillitsvalgt'
    expect(wrong(some, 'isSeatOfStaff', true)).toEqual([])
    const none =
      'Aufsichtsrat; Board Member; Trustee; Membre du conseil; Works Council Lawyer; Works Manager; HR Manager & Works Council Member; Union Organizer; Mentor'
    expect(wrong(none, 'isSeatOfStaff', false)).toEqual([])
  })

  it('reads 21 titles of 12 languages as jobs held alongside another one', () => {
    const some =
      'Barista (part-time); Adjunct Professor; Visiting Fellow; Policy Adviser (secondment); Footballer (on loan); Freelance Designer; Lehrbeauftragte; Verkäufer Teilzeit; Verkäuferin (Teilzeitkraft); Professeure invitée; Vendeuse à mi-temps; Profesora visitante; Docente a contratto; Verkoper (deeltijd); Gästprofessor; Sprzedawca na pół etatu; Продавец, неполный рабочий день; 非常勤講師; Captain (Reserve); Major, Army National Guard; Hauptmann der Reserve; Officier de réserve'
    expect(wrong(some, 'isHeldBeside', true)).toEqual([])
    const none =
      'Visiting Assistant Professor; Parts Manager; Department Timekeeper; Chargé de clientèle; Guest Services Manager; Engineer; Captain; Reserves Manager; Security Guard; 常勤講師'
    expect(wrong(none, 'isHeldBeside', false)).toEqual([])
  })

  it('recognises advice that may come from outside, whether it is a job or not', () => {
    const some =
      'Advisor; Technical Advisor; Senior Advisor; Strategic Advisor; Advisory Board Member; Scientific Advisor; Venture Partner'
    expect(wrong(some, 'isAdvisory', true)).toEqual([])
    const none =
      'Financial Advisor; Tax Advisor; Policy Advisor; Special Advisor to the Minister; CTO @ Lumen | Advisor; CTO; Board Member'
    expect(wrong(none, 'isAdvisory', false)).toEqual([])
  })

  it.each([
    ['Technical Advisor', 'CTO'],
    ['Board Member', 'CEO'],
    ['Angel Investor', 'Head of Sales'],
    ['Machinist', 'Supervisory Board Member'],
    ['Supervisory Board Member', 'Machinist'],
    ['CEO', 'Non-Executive Chairman'],
    ['Machinist', 'Works Council Chair'],
    ['Vendeuse', 'Déléguée syndicale'],
    ['Engineer', 'Shop Steward'],
    ['Betriebsratsvorsitzender', 'Personalleiter'],
  ])('is not a career step: %s → %s', (previous, current) => {
    const said = { label: 'unclassified', rule: 'side_role', confidence: 0 }
    expect(compareTitles(previous, current)).toEqual(said)
  })

  it('is a step down for the holder of a post', () => {
    expect(compareTitles('CEO', 'Board Member').label).toBe('demotion')
    expect(compareTitles('CTO', 'Technical Advisor').label).toBe('demotion')
  })

  it('can still rise: to a higher role, from adviser to senior adviser, from volunteer to coordinator', () => {
    expect(compareTitles('Advisor', 'Senior Advisor').label).toBe('promotion')
    expect(compareTitles('Board Member', 'Chairman of the Board').label).toBe('promotion')
    expect(compareTitles('Senior Advisor', 'Director').label).toBe('promotion')
  })
})
