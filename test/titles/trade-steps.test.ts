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
    'Soldat; Caporal; Caporal-chef; Sergent; Sergent-chef; Adjudant; Adjudant-chef; Sous-lieutenant; Lieutenant; Capitaine; Commandant; Lieutenant-colonel; Colonel; Général de brigade',
    'Sapeur-pompier; Caporal de sapeurs-pompiers; Sergent de sapeurs-pompiers; Adjudant de sapeurs-pompiers; Lieutenant de sapeurs-pompiers; Capitaine de sapeurs-pompiers',
    'Gardien de la paix; Brigadier; Brigadier-chef; Major de police; Lieutenant de police; Capitaine de police; Commandant de police',
    'Private; Private First Class; Lance Corporal; Corporal; Sergeant; Staff Sergeant; Sergeant First Class; Master Sergeant; Sergeant Major',
    'Second Lieutenant; First Lieutenant; Captain; Major; Lieutenant Colonel; Colonel; Brigadier General; Major General; Lieutenant General',
    'Lieutenant Junior Grade; Lieutenant Commander; Commander; Rear Admiral; Vice Admiral; Admiral',
    'Gefreiter; Unteroffizier; Feldwebel; Oberfeldwebel; Hauptfeldwebel; Leutnant; Oberleutnant; Hauptmann; Major; Oberstleutnant; Oberst',
    'Police Officer; Police Corporal; Police Sergeant; Police Lieutenant; Police Captain; Police Major; Deputy Chief of Police; Chief of Police',
    'Deputy Sheriff; Corporal; Sergeant',
    'Kommissarin; Oberkommissarin; Hauptkommissarin; Polizeirätin',
    'Airman First Class; Senior Airman; SSgt; TSgt; MSgt; SMSgt; CMSgt',
    'Cpl; Sgt; SSG; SFC',
    'Fuldmægtig; Specialkonsulent; Chefkonsulent; Kontorchef',
    'Gruppenleiterin Einkauf; Referatsleiterin Einkauf; Abteilungsleiterin Einkauf; Bereichsleiterin Einkauf',
    '助教; 講師; 准教授; 教授',
    '讲师; 副教授; 教授',
    'Counter Manager; Store Manager',
    'Department Manager; Store Manager',
    'Loan Processor; Loan Officer',
    'Investment Analyst; Portfolio Manager',
    'Chargehand; Foreman; General Foreman; Superintendent',
    'Legal Secretary; Corporate Paralegal; Legal Aid Staff Attorney',
    'Healthcare Support Worker; Nursing Associate; Staff Nurse',
    'Class Teacher; Head of Year; Assistant Headteacher; Deputy Head Teacher; Headteacher',
    'Kitchen Porter; Commis Chef; Demi Chef de Partie; Chef de Partie; Sous Chef',
    'Studienreferendarin; Studienrätin; Oberstudienrätin; Studiendirektorin',
    'Regierungsrat; Oberregierungsrat; Regierungsdirektor; Ministerialrat',
    'Key Account Manager; National Account Manager; Global Account Manager',
    'Resourcer; Recruitment Consultant',
    'Reporter; News Editor',
    'Vicedirettrice; Direttrice',
    'Assisterende butikksjef; Butikksjef',
    '副店長; 店長',
    '副校长; 校长',
    '부팀장; 팀장',
    '店员; 店长',
    'Firefighter; Driver Engineer; Fire Lieutenant; Fire Captain; Battalion Chief; Deputy Fire Chief; Fire Chief',
    'Firefighter; Crew Manager; Watch Manager; Station Commander',
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
    for (const [previous, current, label] of [
      ['Capitaine', 'Lieutenant', 'demotion'],
      ['Lieutenant', 'Sous-lieutenant', 'demotion'],
      ['Major', 'Captain', 'demotion'],
      ['Store Manager', 'Department Manager', 'demotion'],
      ['Regional Manager', 'Store Manager', 'demotion'],
      ['Abteilungsleiter', 'Referatsleiter', 'demotion'],
      ['Loan Officer', 'Loan Processor', 'demotion'],
      ['Attorney', 'Paralegal', 'demotion'],
      ['Headteacher', 'Head of Year', 'demotion'],
      ['Attorney', 'Staff Attorney', 'retitle'],
      ['National Account Manager', 'Key Account Manager', 'demotion'],
      ['Battalion Chief', 'Fire Captain', 'demotion'],
      ['Capitaine de sapeurs-pompiers', 'Capitaine', 'retitle'],
      ['Lieutenant Governor', 'General Manager', 'demotion'],
      ['Major Account Manager', 'Sales Captain', 'lateral'],
    ] as const) {
      expect([previous, current, compareTitles(previous, current).label]).toEqual([
        previous,
        current,
        label,
      ])
    }
  })
})
