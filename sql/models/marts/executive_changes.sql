-- grain: One row per arrival, departure or promotion of an executive: at the levels director, vp and cxo.
-- key: event_key, change
-- scope: organization_id
-- references: organization_id -> organizations.organization_id
-- references: successor_event_key -> executive_changes.event_key
-- values: change: arrived | departed | promoted
-- values: level: director | vp | cxo
-- purpose: Who came to the top, who went, who rose there, how long a place stayed empty, and when many go at once.
-- note: promoted means into one of the levels, from a lower one; a step inside a level, such as Director to Senior Director, is
-- note: none. Main jobs only: board members and advisers are not executives.
-- note: A departure is a vacancy of its function and level, filled by the first arrival or promotion there that was not certainly
-- note: earlier; what fell vacant first is filled first, and what comes when nothing is vacant is growth (as in
-- note: time_to_backfill, which counts joinings only). Where the function is unknown nothing is matched. Somebody who left
-- note: and came back to the same place later can be their own successor.
-- note: A promotion leaves a place below empty; that one is not counted as a departure.
-- partition: year of changed_at
-- columns:
--   event_key: event_key of the change in job_change_events; unique.
--   change: arrived (joined at one of the levels), departed (left one) or promoted (rose into one).
--   organization_id: The service's stable id of the organisation.
--   profile_id: The service's stable id of the person.
--   changed_at: When it took effect, UTC. Often known to the month only: then the first of that month.
--   month_start_on: First day of the month of changed_at, UTC.
--   is_month_precise: Whether changed_at is known to the month only.
--   is_future: Whether it was detected before it took effect.
--   person_full_name: The person's full name as written.
--   organization_name: The organisation's name as written.
--   title: The title arrived as, departed from or promoted to, as written.
--   level: director, vp or cxo.
--   function: Field of work of title; other where it names none, unknown where nothing is understood.
--   previous_title: The title before, of a promotion.
--   previous_level: Level of previous_title.
--   other_organization_id: Where an arrival came from or a departure went to, as far as linked (see moves); null otherwise.
--   other_organization_name: Its name as written.
--   successor_event_key: Of a departure: event_key of the arrival or promotion that filled the place; null while vacant.
--   successor_profile_id: Who filled the place; the person who left it where they came back to it.
--   vacancy_days: Of a departure: calendar days until the place was filled, as dated, or, while vacant, until observed_until_on; 0 or more. Null where function is unknown.
--   vacancy_days_min: The fewest days that the precision of both dates allows.
--   vacancy_days_max: The most days that the precision of both dates allows; null while vacant.
--   is_vacant: Of a departure: whether nobody was seen to fill the place, so that vacancy_days is cut off (censored); null where function is unknown.
--   observed_until_on: First day of the month up to which the organisation was looked at; see organization_observation.
--   departures_in_90_days: Of a departure: how many executives of any function departed on its day or in the 90 days before, itself included.
--   is_cluster: Of a departure: whether departures_in_90_days is 2 or more.
--   detected_at: When the service saw the change, UTC.
--   first_seen_at: When the event was first received, UTC.
with

changes as (
    select
        event_key,
        'arrived' as change,
        organization_id,
        profile_id,
        joined_at as changed_at,
        month_start_on,
        is_month_precise,
        is_future,
        person_full_name,
        organization_name,
        title,
        level,
        function,
        cast(null as string) as previous_title,
        cast(null as string) as previous_level,
        came_from_organization_id as other_organization_id,
        came_from_organization_name as other_organization_name,
        detected_at,
        first_seen_at
    from joiners
    where is_primary and level in ('director', 'vp', 'cxo')
    union all
    select
        event_key,
        'departed' as change,
        organization_id,
        profile_id,
        left_at as changed_at,
        month_start_on,
        is_month_precise,
        is_future,
        person_full_name,
        organization_name,
        title,
        level,
        function,
        cast(null as string) as previous_title,
        cast(null as string) as previous_level,
        went_to_organization_id as other_organization_id,
        went_to_organization_name as other_organization_name,
        detected_at,
        first_seen_at
    from leavers
    where is_primary and level in ('director', 'vp', 'cxo')
    union all
    select
        event_key,
        'promoted' as change,
        organization_id,
        profile_id,
        promoted_at as changed_at,
        month_start_on,
        is_month_precise,
        is_future,
        person_full_name,
        organization_name,
        title,
        level,
        function,
        previous_title,
        previous_level,
        cast(null as string) as other_organization_id,
        cast(null as string) as other_organization_name,
        detected_at,
        first_seen_at
    from promotions
    where is_primary and level in ('director', 'vp', 'cxo') and level <> previous_level
),

-- The first and the last day that a change can have been on; they differ where only the month is known.
dated as (
    select
        event_key,
        change,
        organization_id,
        function,
        level,
        profile_id,
        case when change = 'departed' then 1 else 0 end as opens,
        utc_date(changed_at) as earliest_on,
        latest_date(changed_at) as latest_on
    from changes
),

counted as (
    select
        event_key,
        change,
        organization_id,
        function,
        level,
        profile_id,
        opens,
        earliest_on,
        latest_on,
        row_number() over queue as place,
        sum(opens) over queue as opened
    from dated
    where function <> 'unknown'
    window queue as (
        partition by organization_id, function, level
        order by case when opens = 1 then earliest_on else latest_on end, opens desc, event_key
        rows between unbounded preceding and current row
    )
),

-- opened minus filled, 2 * opened - place, falls to a new minimum below 0 with each successor who finds nothing vacant.
surplus as (
    select
        event_key,
        organization_id,
        function,
        level,
        profile_id,
        opens,
        earliest_on,
        latest_on,
        place,
        opened,
        least(
            0,
            coalesce(
                min(2 * opened - place) over (
                    partition by organization_id, function, level
                    order by place
                    rows between unbounded preceding and 1 preceding
                ),
                0
            )
        ) as lowest_before
    from counted
),

successors as (
    select
        organization_id,
        function,
        level,
        event_key,
        profile_id,
        earliest_on,
        latest_on,
        -- Successors so far, less those who filled nothing.
        place - opened + lowest_before as vacancy_number
    from surplus
    where opens = 0 and 2 * opened - place >= lowest_before
),

vacancies as (
    select
        surplus.event_key,
        successors.event_key as successor_event_key,
        successors.profile_id as successor_profile_id,
        greatest(
            0, days_between_dates(surplus.earliest_on, coalesce(successors.earliest_on, observed.observed_until_on))
        ) as vacancy_days,
        greatest(
            0, days_between_dates(surplus.latest_on, coalesce(successors.earliest_on, observed.observed_until_on))
        ) as vacancy_days_min,
        days_between_dates(surplus.earliest_on, successors.latest_on) as vacancy_days_max
    from surplus
    inner join organization_observation as observed on observed.organization_id = surplus.organization_id
    left join successors
        on successors.organization_id = surplus.organization_id
        and successors.function = surplus.function
        and successors.level = surplus.level
        and successors.vacancy_number = surplus.opened
    where surplus.opens = 1
),

departures as (
    select
        event_key,
        count(*) over (
            partition by organization_id
            order by days_between_dates(date '1970-01-01', earliest_on)
            range between 90 preceding and current row
        ) as departures_in_90_days
    from dated
    where opens = 1
)

select
    changes.event_key,
    changes.change,
    changes.organization_id,
    changes.profile_id,
    changes.changed_at,
    changes.month_start_on,
    changes.is_month_precise,
    changes.is_future,
    changes.person_full_name,
    changes.organization_name,
    changes.title,
    changes.level,
    changes.function,
    changes.previous_title,
    changes.previous_level,
    changes.other_organization_id,
    changes.other_organization_name,
    vacancies.successor_event_key,
    vacancies.successor_profile_id,
    cast(vacancies.vacancy_days as integer) as vacancy_days,
    cast(vacancies.vacancy_days_min as integer) as vacancy_days_min,
    cast(vacancies.vacancy_days_max as integer) as vacancy_days_max,
    case when vacancies.event_key is not null then vacancies.successor_event_key is null end as is_vacant,
    observed.observed_until_on,
    cast(departures.departures_in_90_days as integer) as departures_in_90_days,
    departures.departures_in_90_days >= 2 as is_cluster,
    changes.detected_at,
    changes.first_seen_at
from changes
inner join organization_observation as observed on observed.organization_id = changes.organization_id
left join vacancies on vacancies.event_key = changes.event_key
left join departures on departures.event_key = changes.event_key
