-- Events of many careers: 4 events a person, organisations of very different size, titles put together from real words,
-- people who come back, dates known to the month. The same for the same numbers. `careers(organizations, largest)` has the event of
-- each row of the table `steps`: the step (0 to 6) of a person (0 and more), as it was first seen or corrected; of a share
-- `largest` of all stints it is that of the first organisation.

-- Hashed twice: of two arguments the engine's hash mixes the last one only a little.
create or replace temp macro drawn(one, other, salt) as hash(hash(one, other, salt));
create or replace temp macro random_of(one, other, salt) as drawn(one, other, salt) % 1000000 / 1000000.0;
-- The first words are drawn most.
create or replace temp macro word_of(words, one, other, salt) as
    words[cast(floor(len(words) * pow(random_of(one, other, salt), 2)) as integer) + 1];

create or replace temp macro grades() as [
    'Senior ', '', 'Junior ', 'Lead ', 'Principal ', 'Staff ', 'Head of ', 'Associate ', 'Director of ', 'Assistant ',
    'VP ', 'Trainee ', 'Chief '];
create or replace temp macro roles() as [
    'Software Engineer', 'Account Executive', 'Sales Representative', 'Project Manager', 'Consultant', 'Accountant',
    'Nurse', 'Teacher', 'Data Analyst', 'Product Manager', 'Marketing Manager', 'Recruiter', 'UX Designer', 'Controller',
    'Lawyer', 'Mechanical Engineer', 'Store Manager', 'Customer Success Manager', 'Research Scientist', 'Buyer', 'Chef',
    'Entwickler', 'Vertriebsleiter', 'Ingénieur logiciel', 'Chargé de clientèle', 'Desarrollador', 'Gerente', 'Analista',
    'Operations Manager', 'Executive Assistant', 'Electrician', 'Pharmacist', 'Economist', 'Paralegal'];
create or replace temp macro teams() as [
    '', ', Payments', ', Platform', ', EMEA', ', North America', ' (m/w/d)', ', Growth', ' II', ' III', ', DACH',
    ', Enterprise', ', Infrastructure', ', Risk', ', Retail', ', Cloud', ', Security', ', Mobile', ', Supply Chain'];

-- Mostly the grade changes from step to step, in one of four the team, the role never.
create or replace temp macro title_of(p, step) as concat(
    word_of(grades(), p, step, 2),
    word_of(roles(), p, 0, 3),
    word_of(teams(), p, case when drawn(p, step, 16) % 4 = 0 then step else 99 end, 4),
    case when drawn(p, 0, 5) % 3 = 0 then concat(' ', drawn(p, 0, 6) % 20) else '' end);

-- How many events a person has.
create or replace temp macro events_of(p) as 1 + drawn(p, 0, 14) % 7;

create temp table steps (p bigint, step bigint, corrected boolean);

create or replace temp macro careers(organizations, largest) as table
with chosen as (
    select
        p,
        step,
        corrected,
        ['joined', 'title_change', 'left', 'joined', 'left', 'joined', 'title_change'][step + 1] as event_type,
        -- One in twenty comes back to the first organisation.
        case when step < 3 then 0 when step < 5 then 1 when drawn(p, 0, 1) % 20 = 0 then 0 else 2 end as stint,
        -- A leaving has the title of the step before.
        case when step in (2, 4) then step - 1 else step end as titled
    from steps
),
placed as (
    select
        *,
        case
            when random_of(p, stint, 18) < largest then 0
            else cast(organizations * pow(random_of(p, stint, 8), 3) as bigint)
        end as organization,
        list_sum([
            cast(random_of(p, n, 7) * case when n in (3, 5) then 60 else 500 end as bigint) for n in range(step + 1)
        ]) as days,
        cast(-40 * ln(0.001 + random_of(p, step, 11)) as integer) as detection_lag_days
    from chosen
),
dated as (
    select
        *,
        date '2016-01-01' + cast(random_of(p, 0, 9) * 1800 + days as integer) as exact_on,
        case when drawn(p, step, 10) % 10 < 7 then date_trunc('month', exact_on) else exact_on end as changed_on
    from placed
)
select
    p,
    step,
    corrected,
    organization // 50 as batch,
    concat('org_', organization) as organization_id,
    (cast(changed_on as timestamp) + interval 1 day * (detection_lag_days + if(corrected, 3, 0))) as detected_at,
    to_json({
        event_type: event_type,
        detected_at: strftime(detected_at, '%Y-%m-%dT%H:%M:%S.000Z'),
        changed_at: strftime(changed_on, '%Y-%m-%dT00:00:00.000Z'),
        detection_lag_days: detection_lag_days,
        title: {
            "current": concat(if(corrected, 'Senior ', ''), title_of(p, titled)),
            previous: case when event_type = 'title_change' then title_of(p, step - 1) end
        },
        person: {
            profile_id: concat('per_', p),
            handle: concat('handle-', p),
            full_name: concat('Given', drawn(p, 0, 12) % 3000, ' Family', drawn(p, 0, 13) % 70000),
            first_name: concat('Given', drawn(p, 0, 12) % 3000),
            last_name: concat('Family', drawn(p, 0, 13) % 70000),
            headline: concat('Headline of about the usual length, number ', hash(p) % 100000),
            network_url: concat('https://network.example/in/', p)
        },
        organization: {
            organization_id: organization_id,
            "name": concat('Organisation ', organization),
            slug: concat('organisation-', organization),
            network_url: concat('https://network.example/company/', organization)
        }
    }) as event
from dated;
