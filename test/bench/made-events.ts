/**
 * Events of many careers, made by SQL inside the warehouse: 4 events a person, organisations of very different size, titles
 * put together from real words, people who come back, dates known to the month. The same for the same numbers.
 */

import type { Warehouse } from '../../src/warehouse/warehouse.ts'

// The first words are drawn most.
const GRADES = `Senior ||Junior |Lead |Principal |Staff |Head of |Associate |Director of |Assistant |VP |Trainee |Chief `
const ROLES = `Software Engineer|Account Executive|Sales Representative|Project Manager|Consultant|Accountant|Nurse|Teacher|
Data Analyst|Product Manager|Marketing Manager|Recruiter|UX Designer|Controller|Lawyer|Mechanical Engineer|Store Manager|
Customer Success Manager|Research Scientist|Buyer|Chef|Entwickler|Vertriebsleiter|Ingénieur logiciel|Chargé de clientèle|
Desarrollador|Gerente|Analista|Operations Manager|Executive Assistant|Electrician|Pharmacist|Economist|Paralegal`
const TEAMS = `|, Payments|, Platform|, EMEA|, North America| (m/w/d)|, Growth| II| III|, DACH|, Enterprise|, Infrastructure|
, Risk|, Retail|, Cloud|, Security|, Mobile|, Supply Chain`

// Hashed twice: of two arguments the engine's hash mixes the last one only a little.
const drawn = (salt: number, of = 'p') => `hash(hash(${of}, ${salt}))`
const random = (salt: number, of: string) => `(${drawn(salt, of)} % 1000000 / 1000000.0)`
const pick = (words: string, salt: number, of: string) => {
  const list = words.split('|').map((word) => word.replace('\n', ''))
  const quoted = list.map((word) => `'${word}'`).join(', ')
  return `([${quoted}])[cast(floor(${list.length} * pow(${random(salt, of)}, 2)) as integer) + 1]`
}

/** How much to make. */
export interface MadeEvents {
  readonly people: number
  readonly organizations: number
}

const MOST_STEPS = 7
// What the nth event of a person is: joined, perhaps a new title, left, joined the next …
const STEPS = ['joined', 'title_change', 'left', 'joined', 'left', 'joined', 'title_change']
const STINTS = [0, 0, 0, 1, 1, 2, 2]

/** The nth events (0 to 6) of everybody who has so many. */
function stepSql(step: number, { people, organizations }: MadeEvents, where: string): string {
  const stint = STINTS[step] ?? 0
  // One in twenty comes back to the first organisation.
  const stintSql = stint === 2 ? `case when ${drawn(1)} % 20 = 0 then 0 else 2 end` : String(stint)
  // A title belongs to a step; a leaving has that of the step before.
  const titled = STEPS[step] === 'left' ? step - 1 : step
  // Mostly the grade changes, in one step of four the team, the role never.
  const team = (of: number) =>
    `p, case when ${drawn(16, `p, ${of}`)} % 4 = 0 then ${of} else 99 end`
  const title = (of: number) =>
    `concat(${pick(GRADES, 2, `p, ${of}`)}, ${pick(ROLES, 3, 'p')}, ${pick(TEAMS, 4, team(of))},
      case when ${drawn(5)} % 3 = 0 then concat(' ', ${drawn(6)} % 20) else '' end)`
  const days = Array.from(
    { length: step + 1 },
    (_, n) => `cast(${random(7, `p, ${n}`)} * ${n === 3 || n === 5 ? 60 : 500} as bigint)`,
  )
  return `
    with base as (
        select
            p,
            concat('per_', p) as profile_id,
            concat('org_', cast(${organizations} * pow(${random(8, `p, ${stintSql}`)}, 3) as bigint)) as organization_id,
            date '2016-01-01' + cast(${random(9, 'p')} * 1800 + ${days.join(' + ')} as integer) as exact_on
        from range(${people}) as people(p)
        where ${where}
    ),
    dated as (
        select *, case when ${drawn(10, `p, ${step}`)} % 10 < 7 then date_trunc('month', exact_on) else exact_on end as changed_on
        from base
    )
    select
        md5(concat_ws('|', profile_id, organization_id, '${STEPS[step]}', changed_on, ${step})) as event_key,
        profile_id,
        organization_id,
        '${STEPS[step]}' as event_type,
        cast(changed_on as timestamp) at time zone 'UTC' as changed_at,
        (cast(changed_on as timestamp) + interval 1 day * cast(-40 * ln(0.001 + ${random(11, `p, ${step}`)}) as integer)) at time zone 'UTC' as detected_at,
        cast(-40 * ln(0.001 + ${random(11, `p, ${step}`)}) as integer) as detection_lag_days,
        ${title(titled)} as title_current,
        ${STEPS[step] === 'title_change' ? title(step - 1) : 'null'} as title_previous,
        concat('handle-', p) as person_handle,
        concat('Given', ${drawn(12)} % 3000, ' Family', ${drawn(13)} % 70000) as person_full_name,
        concat('Given', ${drawn(12)} % 3000) as person_first_name,
        concat('Family', ${drawn(13)} % 70000) as person_last_name,
        concat('Headline of about the usual length, number ', hash(p) % 100000) as person_headline,
        concat('https://network.example/in/', p) as person_network_url,
        concat('Organisation ', organization_id) as organization_name,
        concat('organisation-', organization_id) as organization_slug,
        concat('https://network.example/company/', organization_id) as organization_network_url`
}

const NATURAL_KEY = `hash(profile_id, organization_id, event_type, changed_at, case when event_type = 'title_change' then title_current end)`
// Two steps of one person can fall on the same day of the same organisation: then neither is kept.
const withoutRepeats = `
    delete from job_change_events
    where ${NATURAL_KEY} in (select ${NATURAL_KEY} from job_change_events group by 1 having count(*) > 1)`

const SEEN = (at: string) => `
    timestamptz '${at}' as attributes_seen_at, timestamptz '${at}' as first_seen_at, timestamptz '${at}' as last_seen_at,
    'run' as first_run_id, 'run' as last_run_id, 1 as times_seen`

/** Fills `job_change_events`: nobody's last event yet. */
export async function makeEvents(warehouse: Warehouse, made: MadeEvents): Promise<void> {
  for (let step = 0; step < MOST_STEPS; step += 1) {
    await warehouse.run(
      `insert into job_change_events by name ${stepSql(step, made, `1 + ${drawn(14)} % ${MOST_STEPS} > ${step}`)},
       ${SEEN('2024-12-01 02:15:00+00')} from dated`,
    )
  }
  await warehouse.run(withoutRepeats)
  await warehouse.run(`
    insert into ops.coverage
    select distinct organization_id, 'joined,left,title_change', cast(null as timestamptz), timestamptz '2024-12-01 02:15:00+00'
    from job_change_events`)
}

/** A night: the next events of some people, new people, and corrections; notes whom it touches, as a load does. */
export async function makeNight(
  warehouse: Warehouse,
  made: MadeEvents,
  events: number,
): Promise<void> {
  const share = events / made.people
  const at = '2024-12-02 02:15:00+00'
  await warehouse.run('create temp table new_events as select * from job_change_events limit 0')
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const next = `1 + ${drawn(14)} % ${MOST_STEPS} = ${step} and ${random(15, 'p')} < ${share}`
    const isNew = `p >= ${made.people} and 1 + ${drawn(14)} % ${MOST_STEPS} > ${step}`
    const people = Math.ceil(events / 40)
    const more = { ...made, people: made.people + people }
    await warehouse.run(
      `insert into new_events by name ${stepSql(step, more, `(p < ${made.people} and ${next}) or (${isNew})`)}, ${SEEN(at)} from dated`,
    )
  }
  const corrected = `hash(event_key) % 1000000 < ${Math.round((1_000_000 * events) / 20 / (made.people * 4))}`
  await warehouse.run(`
    delete from new_events where event_key in (select event_key from job_change_events);
    insert into ops.changed_people select distinct profile_id from new_events;
    insert into ops.changed_people select distinct profile_id from job_change_events where ${corrected};
    update job_change_events set title_current = concat('Senior ', title_current), detected_at = detected_at + interval 3 day
    where ${corrected};
    insert into job_change_events select * from new_events;
    ${withoutRepeats};
    drop table new_events;
    update ops.coverage set covered_to = timestamptz '${at}' where hash(organization_id) % 2 = 0`)
}
