import { describe, expect, it } from 'vitest'
import { understandTitle } from '../../src/titles/understand.ts'

const isEndMarker = (title: string) => understandTitle(title).isEndMarker

describe('a title that says that a job has ended, or that there is none', () => {
  it.each([
    'Retired; RETIRED; Happily Retired; Newly retired; Semi-retired; Retired Teacher; Teacher (retired); Teacher, Retired; Retired US Army Colonel; Retired from Boeing; Col. (ret.); Retired since 2019; Early retirement',
    'Former CFO; Formerly CFO at Acme; Ex CEO; ex-CTO; (ex) CEO; CEO (until 2020); Former VP, Marketing; Past President; Former CFO | Board Member; Ex-Google; Ex-Google engineer; ex-Google Software Engineer; Former Software Engineer, Acme Corp',
    'Retd. Colonel; Army Officer (Retd); US Army Veteran; Navy veteran; Privatier; Architect (deceased); Verstorben; Décédée; Fallecido; In memoriam; In loving memory of Jane',
    'Open to work; #OpenToWork; OPEN TO NEW OPPORTUNITIES; Looking for opportunities; Looking for new opportunities; Looking for a new challenge; Seeking new opportunities; Actively seeking employment; Seeking Data Analyst roles; Currently looking for a job; Job seeker; Available immediately; Available for hire; Former CFO seeking new opportunities; In search of my next role',
    'Between jobs; In between jobs; Between roles; Unemployed; Currently unemployed; Unemployed Engineer; Software Engineer - Unemployed; Career break; Career Break 2023; On a career break; Teacher, on career break; Laid off; In transition; Stay-at-home mom; No longer employed; Not working; Out of work; Gap year; Sabbatical; On a sabbatical; Sabbatical 2023; Im Sabbatical; Congé sabbatique; Former Partner, now Angel Investor; Ex-CEO, currently Board Member',
    'Professor Emeritus; Emeritus Professor; Emeritus; Professor of Physics, Emeritus; Professor Emeritus of History; Dean Emerita; Emeritus Fellow; President Emeritus; Emeritierter Professor; Professeur émérite; Profesor emérito; Ομότιμος Καθηγητής; Prof. emeritus',
    'Im Ruhestand; im Ruhestand; Lehrer im Ruhestand; Lehrer i.R.; Lehrer i. R.; Oberst a.D.; Staatssekretär a. D.; Rentner; Rentnerin; Pensionär; Pensionist; Pensionierter Lehrer; Ehemaliger Geschäftsführer; arbeitssuchend; Arbeitslos; Auf Jobsuche; Auf der Suche nach neuen Herausforderungen; Hausfrau; Suche neue Herausforderung',
    "Retraité; Retraitée; Retraité(e); À la retraite; Enseignant à la retraite; Ancien directeur; En recherche d’emploi; En recherche d'emploi; À la recherche d’un emploi; Demandeur d’emploi; Demandeuse d'emploi; Sans emploi; À l’écoute du marché; Directeur commercial (retraité)",
    'Jubilado; Jubilada; Desempleado; En búsqueda de empleo; Buscando nuevas oportunidades; En búsqueda activa; Profesor jubilado; Exdirector comercial; Aposentado; Aposentada; Desempregado; Em busca de novas oportunidades; Em transição de carreira; Em busca de recolocação; Reformado; Professora aposentada',
    'Pensionato; Pensionata; In pensione; Disoccupato; In cerca di lavoro; Alla ricerca di nuove opportunità; Docente in pensione; Gepensioneerd; Gepensioneerde; Met pensioen; Werkzoekend; Op zoek naar een nieuwe uitdaging; Voormalig directeur',
    'Emeryt; Emerytka; Na emeryturze; Bezrobotny; Szukam pracy; Były prezes; Pensionär; Pensionerad; Arbetssökande; Söker nya utmaningar; Pensjonist; Arbeidsledig; Jobsøgende; Eläkkeellä; Eläkeläinen; Työnhakija; Entinen toimitusjohtaja; Důchodce; V důchodu; Emekli; Emekli öğretmen; İş arıyorum; Nyugdíjas; Pensionar; În căutarea unui loc de muncă; Fost director',
    'Пенсионер; На пенсии; Безработный; В поиске работы; Бывший директор; Ищу работу; Пенсіонер; На пенсії; Безробітний; Шукаю роботу; Колишній директор; Συνταξιούχος; Άνεργος; Πρώην διευθυντής; גמלאי; פנסיונר; מחפש עבודה; מנכ״ל לשעבר; متقاعد; باحث عن عمل; عاطل عن العمل; مدير سابق; सेवानिवृत्त; बेरोजगार',
    'Pensiunan; Sedang mencari pekerjaan; Nghỉ hưu; Đang tìm việc; Cựu giám đốc; เกษียณ; เกษียณอายุ; ว่างงาน; 退職; 退職済み; 定年退職; 引退; 無職; 求職中; 専業主婦; 元CEO; 은퇴; 퇴직; 구직중; 구직 중; 무직; 退休; 已退休; 退休教师; 离职; 待业; 失业; 求职中',
  ])('is %s', (titles) => {
    const wrong = titles.split('; ').filter((title) => !isEndMarker(title))
    expect(wrong).toEqual([])
  })

  it.each([
    "Retirement Planner; Retirement Specialist; Director of Retirement Services; Former Yugoslavia Desk Officer; Former Soviet Union Analyst; Retired Officers' Association Manager; Retired Teachers Association Coordinator; Emeritus Partnerships Manager; Emeritus Program Director",
    'Career Break Programme Lead; Career Transition Coach; Career Transition Program Manager; Unemployed Support Advisor; Unemployment Benefits Officer; Job Search Coach; Jobseeker Coach; Seeking Alpha Contributor; Looking Glass Engineer; Ex-Offender Programme Lead; Ex-Servicemen Welfare Officer; Ex Vivo Scientist; Former Employees Relations Manager; Former Students Coordinator',
    'CTO (ex-Google); CTO | ex-Google; Software Engineer, ex-Meta; Founder & CEO | Former VP at Oracle; Product Manager (ex-founder); ex-Google Engineer @ Stripe; Data Analyst | Open to work; Consultant, formerly Director; Consultant (retired teacher); Open Source Engineer; Open Banking Lead; Working Student; Transition Manager; Opportunities Manager',
    'Logistics Specialist | US Army Veteran; US Navy Veteran | Logistics Specialist; Veteran Journalist; Sales @ Contoso | ex-Oracle; Veterans Service Officer; Deceased Estates Lawyer; In-Memory Database Engineer; Memory Care Nurse',
    'President-elect; Future CEO; Aspiring Data Scientist; Student; Self-employed; Freelancer; Volunteer; Board Member; On maternity leave; Intern; N/A; Ninja; Acting CEO; Interim CFO; Pensions Administrator; Pension Fund Manager; Art Director, AD; HR, I.R. Manager',
    'Engineer on sabbatical; UX Designer (sabbatical); Associate Professor (on sabbatical leave); Lehrer im Sabbatjahr; Enseignante en congé sabbatique; Profesora, año sabático; Sabbatical Officer; Teacher (parental leave)',
    'Rentenberater; Pensionskassenleiter; Ruhestandsplaner; Conseiller en recherche d’emploi; Chercheur; Asesor de jubilaciones; 退職給付コンサルタント; 前端工程师; 은퇴설계 전문가; Chargé de recherche; Responsable recherche et développement; Volt Engineer; Head of Talent Search; Antique Dealer; Home Economics Teacher; Break Specialist; Homemaker',
  ])('is none of %s', (titles) => {
    const wrong = titles.split('; ').filter(isEndMarker)
    expect(wrong).toEqual([])
  })
})
