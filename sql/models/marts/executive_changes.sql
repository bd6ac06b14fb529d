-- grain: One row per change at the top: of a person into a seat at the levels director, vp and cxo, out of one, or from one to another.
-- key: event_key, change
-- kind: view
-- purpose: Who took and left each seat at the top, their predecessors and successors, how long the seat stayed empty, and when many leave at once.
-- note: A seat is an office at the level cxo, such as chief executive officer, and level and function below it, such as vp
-- note: sales, at one organisation (see executive_seats). A step inside a seat, such as Director to Senior Director, is not a
-- note: change; from interim to permanent is one. Side roles are not seats: board members and advisers are not executives.
-- note: A departure, and any change of title that leads out of a seat, leaves it empty until the next holder arrives, interim
-- note: or permanent. seat_successions decides who follows whom; a vacancy expires after 365 days. A person who arrives without
-- note: a vacancy has no predecessor: that is growth. A person who comes back to a seat ends the vacancy, but is not their own
-- note: successor.
-- partition: year of changed_at
-- columns:
--   event_key: event_key of the change in job_change_events.
--   change: arrived (joined into a seat), departed (left a seat and the organisation), promoted (rose into a seat), moved (came to a seat by another change of title, such as to another function) or stepped_down (to a lower level, to chairperson, or to a side role).
--   organization_id: The service's stable id of the organisation.
--   profile_id: The service's stable id of the person.
--   changed_at: When the change took effect, UTC. Often known to the month only: then it is the first of that month.
--   changed_on: The day of changed_at, UTC.
--   month_start_on: First day of the month of changed_at, UTC.
--   precision: How well changed_at is known: day, month (then it is the first of the month), year (1 January, which may stand for the year), or unknown where the date sent is implausible: then it is the time of detection.
--   was_announced: Whether the change was detected before it took effect. It stays true afterwards.
--   person_full_name: The person's full name as written.
--   person_network_url: The newest known address of the person's public page, as sent; null when none is known.
--   organization_name: The organisation's name as written.
--   title: The title of the arrival, of the departure, or after the change, as written.
--   level: Level of title: director, vp or cxo; any level after stepping down.
--   function: Field of work of title; other where it names none, unknown where it is not understood.
--   seat: The seat of title: the one taken or, for a departure, left; null where stepping down leads to none.
--   is_interim: Whether title is held for the time being: interim, acting; null where seat is null.
--   previous_title: The title before the change; null when not known or not a change of title.
--   previous_level: Level of previous_title.
--   previous_seat: The seat of previous_title; null where it has none.
--   other_organization_id: The origin of an arrival or the destination of a departure, where linked (see moves); null otherwise.
--   other_organization_name: Name of that organisation as written.
--   predecessor_event_key: For a new holder of a seat: event_key of the change by which the previous holder left it; null when none is known, or where there was no vacancy. The last permanent holder takes precedence over an interim one.
--   predecessor_profile_id: The previous holder; null where the same person came back.
--   successor_event_key: For a person who left a seat: event_key of the change that brought the next holder, interim or not; null when none was seen.
--   successor_profile_id: The next holder; null where the same person came back, which also ends the vacancy.
--   successor_is_interim: Whether the next holder has the seat for the time being.
--   successor_is_internal: Whether the next holder came by a change of title, rather than by joining the organisation.
--   permanent_successor_event_key: event_key of the change that brought the next permanent holder; null when none was seen.
--   permanent_successor_profile_id: The next permanent holder; null where the same person came back.
--   vacancy_days: For a person who left a seat: calendar days until the next holder came, as dated, or, when none was seen, until observed_until_on; 0 to 365; null where neither is known.
--   vacancy_days_min: The fewest days that the precision of both dates allows.
--   vacancy_days_max: The most days that the precision of both dates allows; null when no next holder was seen.
--   permanent_vacancy_days: Calendar days until the permanent successor came, as dated; null when none was seen.
--   is_vacant: For a person who left a seat: whether the data still shows it empty, so that vacancy_days is cut off (censored).
--   is_expired: For a person who left a seat: whether no successor was seen within 365 days: the seat was abolished, or filled unseen.
--   observed_until_on: First day of the month up to which the organisation was observed; see organizations.
--   departures_in_90_days: For a departure: the number of people who departed from any seat on its day or in the 90 days before, itself included.
--   is_cluster: For a departure: whether departures_in_90_days is 2 or more.
--   detected_at: When the service saw the change, UTC.
--   first_seen_at: When the event was first received by this warehouse, UTC.
with

changes as (
    select
        events.event_key,
        events.change,
        events.organization_id,
        events.profile_id,
        events.changed_at,
        events.month_start_on,
        events.precision,
        events.was_announced,
        events.person_full_name,
        events.person_network_url,
        events.organization_name,
        events.title,
        events.level,
        events.function,
        events.seat,
        events.is_interim,
        events.previous_title,
        events.previous_level,
        events.previous_seat,
        events.other_organization_id,
        events.other_organization_name,
        events.change = 'departed' or (events.previous_seat is not null and events.seat is distinct from events.previous_seat)
            as leaves_seat,
        case when events.change = 'departed' then events.seat else events.previous_seat end as left_seat,
        -- For a seat seen through filters alone, the length of the vacancy is unknown.
        case
            when observed.observed_until_on is not null
                then greatest(0, days_between_dates(utc_date(events.changed_at), observed.observed_until_on))
        end as days_observed,
        case
            when observed.observed_until_on is not null
                then greatest(0, days_between_dates(latest_date(events.changed_at), observed.observed_until_on))
        end as days_observed_min,
        observed.observed_until_on,
        events.detected_at,
        events.first_seen_at
    from executive_events as events
    inner join organization_observation as observed on observed.organization_id = events.organization_id
)

select
    changes.event_key,
    changes.change,
    changes.organization_id,
    changes.profile_id,
    changes.changed_at,
    utc_date(changes.changed_at) as changed_on,
    changes.month_start_on,
    changes.precision,
    changes.was_announced,
    changes.person_full_name,
    changes.person_network_url,
    changes.organization_name,
    changes.title,
    changes.level,
    changes.function,
    changes.seat,
    changes.is_interim,
    changes.previous_title,
    changes.previous_level,
    changes.previous_seat,
    changes.other_organization_id,
    changes.other_organization_name,
    came_after.ended_event_key as predecessor_event_key,
    nullif(came_after.ended_profile_id, changes.profile_id) as predecessor_profile_id,
    next_one.successor_event_key,
    nullif(next_one.successor_profile_id, changes.profile_id) as successor_profile_id,
    next_one.successor_is_interim,
    next_one.successor_is_internal,
    to_stay.successor_event_key as permanent_successor_event_key,
    nullif(to_stay.successor_profile_id, changes.profile_id) as permanent_successor_profile_id,
    cast(
        case
            when not changes.leaves_seat then null
            when next_one.vacancy_days is not null then next_one.vacancy_days
            when changes.days_observed > 365 then 365
            else changes.days_observed
        end as integer
    ) as vacancy_days,
    cast(
        case
            when not changes.leaves_seat then null
            when next_one.vacancy_days_min is not null then next_one.vacancy_days_min
            when changes.days_observed_min > 365 then 365
            else changes.days_observed_min
        end as integer
    ) as vacancy_days_min,
    next_one.vacancy_days_max,
    to_stay.vacancy_days as permanent_vacancy_days,
    case when changes.leaves_seat then next_one.ended_event_key is null and changes.days_observed <= 365 end as is_vacant,
    case when changes.leaves_seat then next_one.ended_event_key is null and changes.days_observed > 365 end as is_expired,
    changes.observed_until_on,
    departures.departures_in_90_days,
    departures.departures_in_90_days >= 2 as is_cluster,
    changes.detected_at,
    changes.first_seen_at
from changes
-- The join also names the organisation, so that a query for one skips the rest of both tables.
left join seat_successions as came_after
    on came_after.organization_id = changes.organization_id
    and came_after.successor_event_key = changes.event_key
    and came_after.is_previous
left join seat_successions as next_one
    on next_one.organization_id = changes.organization_id
    and next_one.ended_event_key = changes.event_key
    and next_one.seat = changes.left_seat
    and next_one.is_next
left join seat_successions as to_stay
    on to_stay.organization_id = changes.organization_id
    and to_stay.ended_event_key = changes.event_key
    and to_stay.seat = changes.left_seat
    and not to_stay.successor_is_interim
left join executive_departures as departures
    on departures.organization_id = changes.organization_id
    and departures.event_key = changes.event_key
