-- grain: One row per departure from a seat at the top and successor: at most one permanent and one interim.
-- key: ended_event_key, seat, successor_is_interim
-- purpose: Who followed whom in a seat, and how long it was empty between them.
-- incremental_by: organization_id
-- note: Each newcomer follows the person who left last among those without a successor, at most 365 days before: a seat that
-- note: stays empty for longer was abolished, or filled unseen. So a vacancy that is never filled makes no later vacancy
-- note: longer, as it would in a queue. A newcomer can arrive up to 31 days before the person they follow leaves, for a
-- note: handover, or because only months are known, if that departure is nearer than the last one before.
-- note: A person who held two seats can leave both by one event.
-- note: Permanent and interim holders are matched separately: an interim holder fills a seat for the time being, and does not
-- note: replace a permanent successor.
-- columns:
--   ended_event_key: event_key of the change that left the seat.
--   ended_profile_id: The person who left the seat.
--   organization_id: The service's stable id of the organisation.
--   seat: The seat, as in executive_seats.
--   was_interim: Whether the person who left had held the seat for the time being.
--   successor_event_key: event_key of the change that brought the next holder.
--   successor_profile_id: The next holder; the person who left, where they came back.
--   successor_is_interim: Whether the next holder has the seat for the time being.
--   successor_is_internal: Whether the next holder came by a change of title, rather than by joining the organisation.
--   is_next: Whether the successor is the next one: the first of an interim and a permanent holder; if both came on one day, the permanent one.
--   is_previous: Whether the person who left is the predecessor: the permanent one of an interim and a permanent holder.
--   gap_days: Calendar days from leaving to arrival as dated, -31 to 365.
--   vacancy_days: The same, 0 or more.
--   vacancy_days_min: The fewest days that the precision of both dates allows.
--   vacancy_days_max: The most days that the precision of both dates allows.
with

kinds as (
    select false as is_interim
    union all
    select true as is_interim
),

-- Each departure paired with the arrivals of both kinds, and each arrival with the departures of both.
sides as (
    select
        seats.organization_id,
        seats.seat,
        seats.is_interim as was_interim,
        kinds.is_interim as successor_is_interim,
        1 as opens,
        seats.ended_event_key as event_key,
        seats.profile_id,
        seats.held_until_at as changed_at,
        days_between_dates(date '1970-01-01', utc_date(seats.held_until_at)) as day_number,
        cast(null as integer) as own_last_day,
        cast(null as boolean) as is_internal
    from executive_seats as seats
    cross join kinds
    where seats.is_vacated
    union all
    select
        seats.organization_id,
        seats.seat,
        kinds.is_interim as was_interim,
        seats.is_interim as successor_is_interim,
        0 as opens,
        seats.began_event_key as event_key,
        seats.profile_id,
        seats.held_from_at as changed_at,
        days_between_dates(date '1970-01-01', utc_date(seats.held_from_at)) as day_number,
        case
            when kinds.is_interim = seats.is_interim
                then days_between_dates(date '1970-01-01', utc_date(seats.held_until_at))
        end as own_last_day,
        seats.began_by <> 'arrived' as is_internal
    from executive_seats as seats
    cross join kinds
    where seats.began_event_key is not null
),

surroundings as (
    select
        organization_id,
        seat,
        was_interim,
        successor_is_interim,
        opens,
        event_key,
        profile_id,
        changed_at,
        day_number,
        own_last_day,
        is_internal,
        max(case when opens = 1 then day_number end) over (
            partition by organization_id, seat, was_interim, successor_is_interim order by day_number
            range between unbounded preceding and current row
        ) as last_going_day,
        min(case when opens = 1 then day_number end) over (
            partition by organization_id, seat, was_interim, successor_is_interim order by day_number
            range between 1 following and 31 following
        ) as next_going_day
    from sides
),

-- A person who takes over sorts after the one who leaves.
ordered as (
    select
        organization_id,
        seat,
        was_interim,
        successor_is_interim,
        opens,
        event_key,
        profile_id,
        changed_at,
        day_number,
        is_internal,
        row_number() over (
            partition by organization_id, seat, was_interim, successor_is_interim
            order by
                case
                    when
                        opens = 0
                        and next_going_day is distinct from own_last_day
                        and next_going_day - day_number < coalesce(day_number - last_going_day, 366)
                        then next_going_day
                    else day_number
                end,
                opens desc,
                case when opens = 0 then -day_number else day_number end,
                event_key
        ) as position
    from surroundings
),

-- The number of seats empty at the time: like a bracket and the one that closes it, each departure and the arrival after it have
-- the same number.
numbered as (
    select
        organization_id,
        seat,
        was_interim,
        successor_is_interim,
        opens,
        event_key,
        profile_id,
        changed_at,
        day_number,
        is_internal,
        position,
        sum(2 * opens - 1) over (
            partition by organization_id, seat, was_interim, successor_is_interim order by position
            rows between unbounded preceding and current row
        ) + 1 - opens as depth
    from ordered
),

pairs as (
    select
        organization_id,
        seat,
        was_interim,
        successor_is_interim,
        opens,
        event_key as ended_event_key,
        profile_id as ended_profile_id,
        changed_at as ended_at,
        lead(opens) over sequence as next_opens,
        lead(event_key) over sequence as successor_event_key,
        lead(profile_id) over sequence as successor_profile_id,
        lead(is_internal) over sequence as successor_is_internal,
        lead(changed_at) over sequence as began_at,
        -day_number + lead(day_number) over sequence as gap_days
    from numbered
    window sequence as (partition by organization_id, seat, was_interim, successor_is_interim, depth order by position)
)

select
    ended_event_key,
    ended_profile_id,
    organization_id,
    seat,
    was_interim,
    successor_event_key,
    successor_profile_id,
    successor_is_interim,
    successor_is_internal,
    row_number() over (partition by organization_id, seat, ended_event_key order by gap_days, successor_is_interim) = 1
        as is_next,
    row_number() over (partition by organization_id, seat, successor_event_key order by was_interim) = 1 as is_previous,
    cast(gap_days as integer) as gap_days,
    cast(greatest(0, gap_days) as integer) as vacancy_days,
    cast(greatest(0, days_between_dates(latest_date(ended_at), utc_date(began_at))) as integer) as vacancy_days_min,
    cast(greatest(0, days_between_dates(utc_date(ended_at), latest_date(began_at))) as integer) as vacancy_days_max
from pairs
where opens = 1 and next_opens = 0 and gap_days <= 365
