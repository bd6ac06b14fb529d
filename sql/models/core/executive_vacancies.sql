-- grain: One row per departure of an executive whose function is known.
-- key: event_key
-- incremental_by: organization_id, function, level
-- purpose: Who filled the place of an executive who departed, and how long it stayed empty.
-- note: The rules stand in executive_changes. Apart from it because a departure can change who fills any later one of its
-- note: organisation, function and level, but no other column of it.
-- columns:
--   event_key: event_key of the leaving; unique.
--   organization_id: The service's stable id of the organisation.
--   function: Field of work of the title that was left; never unknown.
--   level: director, vp or cxo.
--   successor_event_key: event_key of the arrival or promotion that filled the place; null while vacant.
--   successor_profile_id: Who filled the place; the person who left it where they came back to it.
--   vacancy_days: Calendar days until the place was filled, as dated, or, while vacant, until observed_until_on; 0 or more.
--   vacancy_days_min: The fewest days that the precision of both dates allows.
--   vacancy_days_max: The most days that the precision of both dates allows; null while vacant.
with

-- The first and the last day that a change can have been on; they differ where only the month is known.
dated as (
    select
        event_key,
        organization_id,
        function,
        level,
        profile_id,
        case when change = 'departed' then 1 else 0 end as opens,
        utc_date(changed_at) as earliest_on,
        latest_date(changed_at) as latest_on
    from executive_events
),

counted as (
    select
        event_key,
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
)

select
    surplus.event_key,
    surplus.organization_id,
    surplus.function,
    surplus.level,
    successors.event_key as successor_event_key,
    successors.profile_id as successor_profile_id,
    cast(
        greatest(0, days_between_dates(surplus.earliest_on, coalesce(successors.earliest_on, observed.observed_until_on))) as integer
    ) as vacancy_days,
    cast(
        greatest(0, days_between_dates(surplus.latest_on, coalesce(successors.earliest_on, observed.observed_until_on))) as integer
    ) as vacancy_days_min,
    cast(days_between_dates(surplus.earliest_on, successors.latest_on) as integer) as vacancy_days_max
from surplus
inner join organization_observation as observed on observed.organization_id = surplus.organization_id
left join successors
    on successors.organization_id = surplus.organization_id
    and successors.function = surplus.function
    and successors.level = surplus.level
    and successors.vacancy_number = surplus.opened
where surplus.opens = 1
