/**
 * Career ladders: for each language and line of work the titles from the first job to the top, lowest first. A rung is
 * a list of spellings that mean the same; `a|b` is a masculine and a feminine form. Rungs of one height are peers.
 */

import type { Language } from './names.ts'

/** Spellings of one rung. */
export type Rung = readonly string[]
/** Rungs, lowest first. */
export type Ladder = readonly Rung[]

export const LADDERS: Readonly<Record<Language, readonly Ladder[]>> = {
  en: [
    [
      ['Junior Software Engineer', 'Jr. Software Engineer', 'Associate Software Engineer'],
      ['Software Engineer', 'Software Engineer II', 'Software Developer'],
      ['Senior Software Engineer', 'Sr. Software Engineer', 'Senior Software Developer'],
      ['Staff Software Engineer', 'Lead Software Engineer', 'Tech Lead'],
      ['Engineering Manager', 'Software Engineering Manager', 'Manager, Engineering'],
      ['Director of Engineering', 'Engineering Director', 'Director, Software Engineering'],
      ['VP Engineering', 'Vice President of Engineering', 'Chief Technology Officer', 'CTO'],
    ],
    [
      ['Data Analyst Intern', 'Junior Data Analyst'],
      ['Data Analyst', 'Business Intelligence Analyst', 'Analyst, Data'],
      ['Senior Data Analyst', 'Senior Data Scientist', 'Sr Data Scientist'],
      ['Lead Data Scientist', 'Principal Data Scientist'],
      ['Data Science Manager', 'Analytics Manager', 'Manager, Data & Analytics'],
      ['Head of Data', 'Director of Analytics'],
      ['Chief Data Officer', 'VP, Data'],
    ],
    [
      ['Sales Development Representative', 'SDR', 'Business Development Representative'],
      ['Account Executive', 'Sales Representative', 'Sales Executive'],
      ['Senior Account Executive', 'Enterprise Account Executive', 'Sr. Account Executive, EMEA'],
      ['Key Account Lead', 'Sales Team Lead'],
      ['Sales Manager', 'Regional Sales Manager', 'Manager, Enterprise Sales'],
      ['Director of Sales', 'Sales Director', 'Head of Sales'],
      ['VP Sales', 'SVP Global Sales', 'Chief Revenue Officer'],
    ],
    [
      ['Marketing Assistant', 'Marketing Coordinator'],
      ['Marketing Specialist', 'Marketing Executive', 'Content Marketer'],
      ['Senior Marketing Specialist', 'Senior Product Marketer'],
      ['Growth Marketing Lead', 'Brand Lead'],
      ['Marketing Manager', 'Product Marketing Manager'],
      ['Head of Marketing', 'Marketing Director'],
      ['Chief Marketing Officer', 'CMO', 'VP Marketing'],
    ],
    [
      ['Accounts Assistant', 'Junior Accountant'],
      ['Accountant', 'Financial Analyst', 'Staff Accountant'],
      ['Senior Accountant', 'Senior Financial Analyst', 'Sr. Financial Analyst'],
      ['Finance Business Partner', 'Lead Accountant'],
      ['Finance Manager', 'Financial Controller', 'FP&A Manager'],
      ['Finance Director', 'Head of Finance'],
      ['Chief Financial Officer', 'CFO', 'VP Finance'],
    ],
    [
      ['HR Assistant', 'Recruiting Coordinator'],
      ['HR Generalist', 'Recruiter', 'Talent Acquisition Specialist'],
      ['Senior Recruiter', 'HR Business Partner', 'Senior HR Business Partner'],
      ['Talent Acquisition Lead', 'People Partner Lead'],
      ['HR Manager', 'People Operations Manager'],
      ['Head of People', 'HR Director', 'Director, Human Resources'],
      ['Chief People Officer', 'Chief Human Resources Officer', 'VP People'],
    ],
    [
      ['Product Analyst', 'Associate Product Manager'],
      ['Product Owner', 'Product Designer', 'UX Designer'],
      ['Senior Product Designer', 'Senior Product Owner'],
      ['Lead Product Designer', 'Principal Product Manager'],
      ['Group Product Manager', 'Design Manager'],
      ['Director of Product', 'Head of Product', 'Head of Design'],
      ['Chief Product Officer', 'VP Product'],
    ],
    [
      ['Customer Support Agent', 'Warehouse Associate', 'Store Assistant'],
      ['Customer Success Specialist', 'Operations Coordinator', 'Registered Nurse'],
      ['Senior Customer Success Specialist', 'Senior Operations Analyst', 'Senior Nurse'],
      ['Shift Lead', 'Operations Team Lead', 'Supply Chain Lead'],
      ['Operations Manager', 'Store Manager', 'Customer Success Manager'],
      ['Director of Operations', 'Head of Customer Success'],
      ['Chief Operating Officer', 'COO', 'VP Operations'],
    ],
  ],
  de: [
    [
      [
        'Werkstudent Softwareentwicklung|Werkstudentin Softwareentwicklung',
        'Junior Softwareentwickler (m/w/d)',
      ],
      [
        'Softwareentwickler|Softwareentwicklerin',
        'Software Engineer',
        'Anwendungsentwickler|Anwendungsentwicklerin',
      ],
      ['Senior Softwareentwickler|Senior Softwareentwicklerin', 'Senior Software Engineer'],
      [
        'Leitender Softwareentwickler|Leitende Softwareentwicklerin',
        'Softwarearchitekt|Softwarearchitektin',
      ],
      [
        'Teamleiter Softwareentwicklung|Teamleiterin Softwareentwicklung',
        'Teamleitung Entwicklung',
      ],
      ['Leiter Entwicklung|Leiterin Entwicklung', 'Bereichsleiter IT|Bereichsleiterin IT'],
      ['Technischer Geschäftsführer|Technische Geschäftsführerin', 'CTO'],
    ],
    [
      ['Vertriebsassistent|Vertriebsassistentin', 'Trainee Vertrieb'],
      [
        'Vertriebsmitarbeiter|Vertriebsmitarbeiterin',
        'Außendienstmitarbeiter|Außendienstmitarbeiterin',
      ],
      ['Senior Account Manager', 'Key Account Manager|Key Account Managerin'],
      ['Gebietsleiter|Gebietsleiterin', 'Gruppenleiter Vertrieb|Gruppenleiterin Vertrieb'],
      ['Vertriebsleiter|Vertriebsleiterin', 'Regionalleiter Vertrieb|Regionalleiterin Vertrieb'],
      ['Leiter Vertrieb DACH|Leiterin Vertrieb DACH', 'Head of Sales DACH'],
      ['Geschäftsführer Vertrieb|Geschäftsführerin Vertrieb', 'Vorstand Vertrieb'],
    ],
    [
      ['Auszubildender Industriekaufmann|Auszubildende Industriekauffrau', 'Bürohilfe'],
      ['Buchhalter|Buchhalterin', 'Sachbearbeiter Rechnungswesen|Sachbearbeiterin Rechnungswesen'],
      ['Bilanzbuchhalter|Bilanzbuchhalterin', 'Senior Controller|Senior Controllerin'],
      ['Referent Controlling|Referentin Controlling', 'Hauptbuchhalter|Hauptbuchhalterin'],
      [
        'Teamleiter Buchhaltung|Teamleiterin Buchhaltung',
        'Leiter Controlling|Leiterin Controlling',
      ],
      ['Kaufmännischer Leiter|Kaufmännische Leiterin', 'Leiter Finanzen|Leiterin Finanzen'],
      ['Finanzvorstand', 'Kaufmännischer Geschäftsführer|Kaufmännische Geschäftsführerin', 'CFO'],
    ],
    [
      ['Praktikant Personal|Praktikantin Personal', 'Personalassistent|Personalassistentin'],
      ['Personalsachbearbeiter|Personalsachbearbeiterin', 'Personalreferent|Personalreferentin'],
      ['Senior Personalreferent|Senior Personalreferentin', 'HR Business Partner'],
      ['Gruppenleiter Personal|Gruppenleiterin Personal', 'Lead Recruiting'],
      ['Teamleiter Recruiting|Teamleiterin Recruiting', 'Personalleiter|Personalleiterin'],
      ['Leiter Personal|Leiterin Personal', 'Head of HR'],
      ['Personalvorstand', 'Arbeitsdirektor|Arbeitsdirektorin'],
    ],
    [
      ['Lagermitarbeiter|Lagermitarbeiterin', 'Aushilfe'],
      [
        'Fachkraft für Lagerlogistik',
        'Disponent|Disponentin',
        'Projektkoordinator|Projektkoordinatorin',
      ],
      ['Projektingenieur|Projektingenieurin', 'Senior Disponent|Senior Disponentin'],
      ['Schichtleiter|Schichtleiterin', 'Projektleiter|Projektleiterin'],
      ['Lagerleiter|Lagerleiterin', 'Abteilungsleiter Logistik|Abteilungsleiterin Logistik'],
      ['Betriebsleiter|Betriebsleiterin', 'Werkleiter|Werkleiterin'],
      ['Geschäftsführer|Geschäftsführerin', 'Mitglied des Vorstands'],
    ],
  ],
  fr: [
    [
      [
        'Stagiaire développement',
        'Développeur junior|Développeuse junior',
        'Alternant développeur|Alternante développeuse',
      ],
      [
        'Développeur|Développeuse',
        'Ingénieur logiciel|Ingénieure logiciel',
        'Développeur web|Développeuse web',
      ],
      [
        'Développeur senior|Développeuse senior',
        'Ingénieur logiciel senior|Ingénieure logiciel senior',
      ],
      ['Lead développeur|Lead développeuse', 'Architecte logiciel'],
      [
        "Responsable d'équipe technique",
        'Chef de projet informatique|Cheffe de projet informatique',
      ],
      [
        'Directeur technique adjoint|Directrice technique adjointe',
        'Directeur des systèmes d’information|Directrice des systèmes d’information',
        'DSI',
      ],
      ['Directeur technique|Directrice technique', 'CTO'],
    ],
    [
      [
        'Assistant commercial|Assistante commerciale',
        'Alternant commercial|Alternante commerciale',
      ],
      [
        'Commercial|Commerciale',
        'Chargé de clientèle|Chargée de clientèle',
        'Technico-commercial|Technico-commerciale',
      ],
      [
        'Commercial grands comptes|Commerciale grands comptes',
        'Ingénieur commercial senior|Ingénieure commerciale senior',
      ],
      ['Chef de secteur|Cheffe de secteur', 'Responsable grands comptes'],
      ['Responsable commercial|Responsable commerciale', 'Chef des ventes|Cheffe des ventes'],
      ['Directeur régional des ventes|Directrice régionale des ventes'],
      [
        'Directeur commercial|Directrice commerciale',
        'Directeur général adjoint|Directrice générale adjointe',
      ],
    ],
    [
      ['Assistant comptable|Assistante comptable', 'Stagiaire finance'],
      ['Comptable', 'Contrôleur de gestion|Contrôleuse de gestion'],
      ['Comptable senior', 'Contrôleur de gestion senior|Contrôleuse de gestion senior'],
      ['Chef comptable|Cheffe comptable', 'Chargé de mission finance|Chargée de mission finance'],
      ['Responsable comptable', 'Responsable du contrôle de gestion'],
      [
        'Directeur comptable|Directrice comptable',
        'Responsable administratif et financier|Responsable administrative et financière',
      ],
      ['Directeur administratif et financier|Directrice administrative et financière', 'DAF'],
    ],
    [
      ['Assistant marketing|Assistante marketing', 'Assistant RH|Assistante RH'],
      [
        'Chargé de communication|Chargée de communication',
        'Chargé de recrutement|Chargée de recrutement',
      ],
      [
        'Chargé de marketing senior|Chargée de marketing senior',
        'Chef de produit|Cheffe de produit',
      ],
      ['Chef de produit senior|Cheffe de produit senior', 'Responsable de marque'],
      ['Responsable marketing', 'Responsable des ressources humaines', 'RRH'],
      ['Directeur de la communication|Directrice de la communication'],
      [
        'Directeur marketing|Directrice marketing',
        'Directeur des ressources humaines|Directrice des ressources humaines',
        'DRH',
      ],
    ],
  ],
  es: [
    [
      ['Becario de desarrollo|Becaria de desarrollo', 'Programador junior|Programadora junior'],
      [
        'Desarrollador de software|Desarrolladora de software',
        'Ingeniero de software|Ingeniera de software',
        'Programador|Programadora',
      ],
      [
        'Desarrollador senior|Desarrolladora senior',
        'Ingeniero de software sénior|Ingeniera de software sénior',
      ],
      ['Líder técnico|Líder técnica', 'Arquitecto de software|Arquitecta de software'],
      ['Jefe de desarrollo|Jefa de desarrollo', 'Gerente de ingeniería'],
      [
        'Director de ingeniería|Directora de ingeniería',
        'Director de sistemas|Directora de sistemas',
      ],
      ['Director de tecnología|Directora de tecnología', 'CTO'],
    ],
    [
      ['Auxiliar comercial', 'Promotor de ventas|Promotora de ventas'],
      [
        'Ejecutivo de cuentas|Ejecutiva de cuentas',
        'Asesor comercial|Asesora comercial',
        'Vendedor|Vendedora',
      ],
      [
        'Ejecutivo de cuentas senior|Ejecutiva de cuentas senior',
        'Gestor de grandes cuentas|Gestora de grandes cuentas',
      ],
      [
        'Coordinador comercial|Coordinadora comercial',
        'Supervisor de ventas|Supervisora de ventas',
      ],
      ['Jefe de ventas|Jefa de ventas', 'Gerente de ventas', 'Gerente comercial'],
      ['Director regional de ventas|Directora regional de ventas'],
      [
        'Director comercial|Directora comercial',
        'Vicepresidente de ventas|Vicepresidenta de ventas',
      ],
    ],
    [
      ['Auxiliar administrativo|Auxiliar administrativa', 'Auxiliar contable'],
      ['Contable', 'Contador|Contadora', 'Analista financiero|Analista financiera'],
      ['Analista financiero senior|Analista financiera senior', 'Contable senior'],
      [
        'Coordinador de finanzas|Coordinadora de finanzas',
        'Controller financiero|Controller financiera',
      ],
      ['Jefe de contabilidad|Jefa de contabilidad', 'Gerente de finanzas'],
      [
        'Subdirector financiero|Subdirectora financiera',
        'Director de administración|Directora de administración',
      ],
      ['Director financiero|Directora financiera', 'Director general|Directora general'],
    ],
    [
      ['Auxiliar de recursos humanos', 'Becario de marketing|Becaria de marketing'],
      [
        'Técnico de recursos humanos|Técnica de recursos humanos',
        'Especialista en marketing',
        'Operario de producción|Operaria de producción',
      ],
      [
        'Técnico de selección senior|Técnica de selección senior',
        'Especialista senior en marketing digital',
      ],
      [
        'Coordinador de marketing|Coordinadora de marketing',
        'Encargado de turno|Encargada de turno',
      ],
      [
        'Responsable de recursos humanos',
        'Gerente de marketing',
        'Jefe de operaciones|Jefa de operaciones',
      ],
      [
        'Director de marketing|Directora de marketing',
        'Director de operaciones|Directora de operaciones',
      ],
      [
        'Director de recursos humanos|Directora de recursos humanos',
        'Director general adjunto|Directora general adjunta',
      ],
    ],
  ],
  pt: [
    [
      [
        'Estagiário de desenvolvimento|Estagiária de desenvolvimento',
        'Desenvolvedor júnior|Desenvolvedora júnior',
      ],
      [
        'Desenvolvedor de software|Desenvolvedora de software',
        'Desenvolvedor pleno|Desenvolvedora plena',
        'Engenheiro de software|Engenheira de software',
      ],
      [
        'Desenvolvedor sênior|Desenvolvedora sênior',
        'Engenheiro de software sênior|Engenheira de software sênior',
      ],
      ['Líder técnico|Líder técnica', 'Arquiteto de software|Arquiteta de software', 'Tech Lead'],
      ['Coordenador de desenvolvimento|Coordenadora de desenvolvimento', 'Gerente de engenharia'],
      ['Diretor de engenharia|Diretora de engenharia', 'Superintendente de TI'],
      ['Diretor de tecnologia|Diretora de tecnologia', 'CTO'],
    ],
    [
      ['Assistente comercial', 'Estagiário de vendas|Estagiária de vendas'],
      [
        'Executivo de contas|Executiva de contas',
        'Vendedor|Vendedora',
        'Consultor de vendas|Consultora de vendas',
      ],
      [
        'Executivo de contas sênior|Executiva de contas sênior',
        'Consultor comercial sênior|Consultora comercial sênior',
      ],
      [
        'Coordenador comercial|Coordenadora comercial',
        'Supervisor de vendas|Supervisora de vendas',
      ],
      ['Gerente de vendas', 'Gerente comercial', 'Gerente de contas estratégicas'],
      ['Diretor regional de vendas|Diretora regional de vendas'],
      ['Diretor comercial|Diretora comercial', 'Vice-presidente de vendas'],
    ],
    [
      [
        'Auxiliar administrativo|Auxiliar administrativa',
        'Assistente financeiro|Assistente financeira',
      ],
      ['Analista financeiro|Analista financeira', 'Contador|Contadora', 'Analista contábil'],
      ['Analista financeiro sênior|Analista financeira sênior', 'Contabilista sénior'],
      ['Coordenador financeiro|Coordenadora financeira', 'Especialista em controladoria'],
      ['Gerente financeiro|Gerente financeira', 'Controller'],
      ['Superintendente financeiro|Superintendente financeira'],
      ['Diretor financeiro|Diretora financeira', 'CFO'],
    ],
    [
      ['Assistente de RH', 'Auxiliar de produção'],
      [
        'Analista de recursos humanos',
        'Analista de marketing',
        'Operador de produção|Operadora de produção',
      ],
      ['Analista de marketing sênior', 'Business partner de RH'],
      [
        'Coordenador de marketing|Coordenadora de marketing',
        'Encarregado de produção|Encarregada de produção',
      ],
      ['Gerente de recursos humanos', 'Gerente de marketing', 'Gerente de operações'],
      ['Diretor de operações|Diretora de operações', 'Diretor de marketing|Diretora de marketing'],
      ['Diretor de recursos humanos|Diretora de recursos humanos', 'Diretor-geral|Diretora-geral'],
    ],
  ],
}

/** Second jobs that are held beside a main one. */
export const SIDE_TITLES: Readonly<Record<Language, readonly string[]>> = {
  en: ['Advisor', 'Board Member', 'Non-Executive Director', 'Part-time Lecturer', 'Mentor'],
  de: ['Beirat', 'Lehrbeauftragter|Lehrbeauftragte', 'Aufsichtsrat|Aufsichtsrätin'],
  fr: [
    'Conseiller|Conseillère',
    'Administrateur|Administratrice',
    'Chargé de cours|Chargée de cours',
  ],
  es: [
    'Asesor externo|Asesora externa',
    'Miembro del consejo',
    'Profesor asociado|Profesora asociada',
  ],
  pt: ['Conselheiro|Conselheira', 'Mentor|Mentora', 'Professor convidado|Professora convidada'],
}

/** Additions by which a title is rewritten without a change of rank. */
export const TITLE_ADDITIONS: readonly string[] = [
  'EMEA',
  'Cloud',
  'Platform',
  'Payments',
  'B2B',
  'International',
  'Growth',
  'Automotive',
]

/** How a headline joins title and organisation. */
export const AT_WORD: Readonly<Record<Language, string>> = {
  en: 'at',
  de: 'bei',
  fr: 'chez',
  es: 'en',
  pt: 'na',
}
