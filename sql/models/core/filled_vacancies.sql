-- grain: One row per leaving of a main job whose place was filled again.
-- key: left_event_key
-- incremental_by: organization_id, function, level
-- references: left_event_key -> leavers.event_key
-- references: joined_event_key -> joiners.event_key
-- purpose: Who was hired for a place that somebody had left. What time_to_backfill sets beside all leavings.
-- note: A queue for each organisation, function and level: what fell vacant first is filled first. A joining fills the oldest
-- note: open vacancy; where none is open it is growth and fills none that opens later.
-- note: A date known to the month only can be any day of it: a joining fills a vacancy unless it was certainly earlier.
-- note: Apart from time_to_backfill because few places are filled again, and a night changes few of these.
-- columns:
--   left_event_key: event_key of the leaving; unique.
--   organization_id: The service's stable id of the organisation.
--   function: Field of work of the title that was left; never unknown.
--   level: Level of the title that was left; never unknown.
--   joined_event_key: event_key of the joining that filled the place; unique.
--   joined_profile_id: The person who filled the place; can be the one who had left it.
--   joined_at: When the place was filled, UTC.
--   days_to_backfill: Calendar days from leaving to joining as dated, 0 or more.
--   days_to_backfill_min: The fewest days that the precision of both dates allows.
--   days_to_backfill_max: The most days that the precision of both dates allows.
with

-- A vacancy takes its place in the queue on the first day that it can have been, a joining on the last.
changes as (
    select organization_id, function, level, event_key, profile_id, left_at as changed_at, 1 as opens, utc_date(left_at) as queued_on
    from leavers
    where is_primary and level <> 'unknown' and function <> 'unknown'
    union all
    select organization_id, function, level, event_key, profile_id, joined_at as changed_at, 0 as opens, latest_date(joined_at) as queued_on
    from joiners
    where is_primary and level <> 'unknown' and function <> 'unknown'
),

-- Most organisations never hire again for what fell vacant: only the others are put in order. A number for organization,
-- function and level makes that order cheap.
queues as (
    select
        organization_id,
        function,
        level,
        min(case when opens = 1 then queued_on end) as first_vacant_on,
        max(case when opens = 0 then queued_on end) as last_hired_on,
        row_number() over (order by organization_id, function, level) as queue_number
    from changes
    group by organization_id, function, level
    having min(case when opens = 1 then queued_on end) <= max(case when opens = 0 then queued_on end)
),

queued as (
    select
        queues.queue_number,
        changes.event_key,
        changes.profile_id,
        changes.changed_at,
        changes.opens,
        changes.queued_on
    from changes
    inner join queues
        on queues.organization_id = changes.organization_id
        and queues.function = changes.function
        and queues.level = changes.level
    where changes.queued_on between queues.first_vacant_on and queues.last_hired_on
),

counted as (
    select
        queue_number,
        event_key,
        profile_id,
        changed_at,
        opens,
        row_number() over queue as place,
        sum(opens) over queue as opened
    from queued
    window queue as (
        partition by queue_number
        order by queued_on, opens desc, event_key
        rows between unbounded preceding and current row
    )
),

-- opened minus joined, 2 * opened - place, falls to a new minimum below 0 with each joining that finds nothing vacant.
surplus as (
    select
        queue_number,
        event_key,
        profile_id,
        changed_at,
        opens,
        place,
        opened,
        least(
            0,
            coalesce(
                min(2 * opened - place) over (
                    partition by queue_number order by place rows between unbounded preceding and 1 preceding
                ),
                0
            )
        ) as lowest_before
    from counted
),

filled as (
    select
        queue_number,
        event_key,
        profile_id,
        changed_at,
        -- Joinings so far, less those that filled nothing.
        place - opened + lowest_before as vacancy_number
    from surplus
    where opens = 0 and 2 * opened - place >= lowest_before
)

select
    surplus.event_key as left_event_key,
    queues.organization_id,
    queues.function,
    queues.level,
    filled.event_key as joined_event_key,
    filled.profile_id as joined_profile_id,
    filled.changed_at as joined_at,
    cast(greatest(0, days_between(surplus.changed_at, filled.changed_at)) as integer) as days_to_backfill,
    cast(
        greatest(0, days_between_dates(latest_date(surplus.changed_at), utc_date(filled.changed_at))) as integer
    ) as days_to_backfill_min,
    cast(days_between_dates(utc_date(surplus.changed_at), latest_date(filled.changed_at)) as integer) as days_to_backfill_max
from surplus
inner join filled
    on filled.queue_number = surplus.queue_number
    and filled.vacancy_number = surplus.opened
inner join queues on queues.queue_number = surplus.queue_number
where surplus.opens = 1
