-- grain: One row per leaving of a main job whose place was filled again within 12 months.
-- key: left_event_key
-- references: left_event_key -> leavers.event_key
-- references: joined_event_key -> joiners.event_key
-- purpose: The person hired for each place that became vacant; time_to_backfill adds these to all leavings.
-- incremental_by: organization_id
-- note: Inside an organisation, function and level, the leaving and the later joining that are nearest form the first pair, the
-- note: nearest of the rest the next, and so on: each is in one pair at most. Pairs of the same role (core of titles) come
-- note: first, then the rest. A vacancy expires after 365 days and can no longer be filled. A joining without a vacancy is
-- note: growth. People whom a transfer takes along leave no vacancy, and people whom one brings fill none. A date known to the
-- note: month only can be any day of it: a joining fills a vacancy unless it was certainly earlier.
-- note: This model is separate from time_to_backfill because few places are filled again, and a daily build changes few of
-- note: these rows.
-- columns:
--   left_event_key: event_key of the leaving; unique.
--   organization_id: The service's stable id of the organisation.
--   function: Field of work of the title that was left; never unknown.
--   level: Level of the title that was left; never unknown.
--   joined_event_key: event_key of the joining that filled the place; unique.
--   joined_profile_id: The person who filled the place; can be the one who had left it.
--   joined_at: When the place was filled, UTC.
--   is_same_core: Whether both titles name the same role; also false where one of them names none.
--   days_to_backfill: Calendar days from leaving to joining as dated, 0 to 365.
--   days_to_backfill_min: The fewest days that the precision of both dates allows.
--   days_to_backfill_max: The most days that the precision of both dates allows; at most 365.
with

-- A vacancy opens on its first possible day, a joining fills it on its last.
changes as (
    select
        organization_id, function, level, core, event_key, profile_id, left_at as changed_at, 1 as opens, utc_date(left_at) as queued_on
    from leavers
    where is_primary and not is_transfer and level <> 'unknown' and function <> 'unknown'
    union all
    select
        organization_id, function, level, core, event_key, profile_id, joined_at as changed_at, 0 as opens, latest_date(joined_at) as queued_on
    from joiners
    where is_primary and not is_transfer and level <> 'unknown' and function <> 'unknown'
),

-- Most organisations never refill a vacancy: only the others are sorted. A number for organization, function and level makes that
-- sort cheap.
places as (
    select
        organization_id,
        function,
        level,
        min(case when opens = 1 then queued_on end) as first_vacant_on,
        max(case when opens = 0 then queued_on end) as last_hired_on,
        row_number() over (order by organization_id, function, level) as place_number
    from changes
    group by organization_id, function, level
    having min(case when opens = 1 then queued_on end) <= max(case when opens = 0 then queued_on end)
),

queued as (
    select
        places.place_number,
        changes.core,
        changes.event_key,
        changes.profile_id,
        changes.changed_at,
        changes.opens,
        changes.queued_on
    from changes
    inner join places
        on places.organization_id = changes.organization_id
        and places.function = changes.function
        and places.level = changes.level
    where changes.queued_on between places.first_vacant_on and places.last_hired_on
),

-- The nearest two are adjacent. Once they are removed, the next two are, and so on: leavings and joinings pair like brackets.
-- As many vacancies are open after a leaving as before the joining that closes it.
counted_of_core as (
    select
        place_number,
        core,
        event_key,
        opens,
        queued_on,
        sum(case when opens = 1 then 1 else -1 end) over (
            partition by place_number, core
            order by queued_on, opens desc, event_key
            rows between unbounded preceding and current row
        ) + 1 - opens as depth,
        row_number() over (partition by place_number, core order by queued_on, opens desc, event_key) as nth
    from queued
    where core is not null
),

-- At each depth, leavings and joinings alternate: a joining closes the leaving before it. The first joining may have none.
pairs_of_core as (
    select
        event_key as joined_event_key,
        opens,
        lag(event_key) over depths as left_event_key,
        days_between_dates(lag(queued_on) over depths, queued_on) as days
    from counted_of_core
    window depths as (partition by place_number, core, depth order by nth)
),

filled_of_core as (
    select left_event_key, joined_event_key
    from pairs_of_core
    where opens = 0 and days <= 365
),

counted as (
    select
        queued.place_number,
        queued.event_key,
        queued.opens,
        queued.queued_on,
        sum(case when queued.opens = 1 then 1 else -1 end) over (
            partition by queued.place_number
            order by queued.queued_on, queued.opens desc, queued.event_key
            rows between unbounded preceding and current row
        ) + 1 - queued.opens as depth,
        row_number() over (
            partition by queued.place_number order by queued.queued_on, queued.opens desc, queued.event_key
        ) as nth
    from queued
    left join filled_of_core as vacated on vacated.left_event_key = queued.event_key
    left join filled_of_core as taken on taken.joined_event_key = queued.event_key
    where vacated.left_event_key is null and taken.left_event_key is null
),

pairs as (
    select
        event_key as joined_event_key,
        opens,
        lag(event_key) over depths as left_event_key,
        days_between_dates(lag(queued_on) over depths, queued_on) as days
    from counted
    window depths as (partition by place_number, depth order by nth)
),

filled as (
    select left_event_key, joined_event_key, true as is_same_core
    from filled_of_core
    union all
    select left_event_key, joined_event_key, false as is_same_core
    from pairs
    where opens = 0 and days <= 365
)

select
    filled.left_event_key,
    places.organization_id,
    places.function,
    places.level,
    filled.joined_event_key,
    joined.profile_id as joined_profile_id,
    joined.changed_at as joined_at,
    filled.is_same_core,
    cast(greatest(0, days_between(vacated.changed_at, joined.changed_at)) as integer) as days_to_backfill,
    cast(
        greatest(0, days_between_dates(latest_date(vacated.changed_at), utc_date(joined.changed_at))) as integer
    ) as days_to_backfill_min,
    cast(days_between_dates(utc_date(vacated.changed_at), latest_date(joined.changed_at)) as integer) as days_to_backfill_max
from filled
inner join queued as vacated on vacated.event_key = filled.left_event_key
inner join queued as joined on joined.event_key = filled.joined_event_key
inner join places on places.place_number = vacated.place_number
