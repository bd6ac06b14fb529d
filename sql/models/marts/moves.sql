-- grain: One row per move: one person's departure linked to the same person's arrival at another organisation.
-- key: left_event_key
-- purpose: Links the two events of each move, so that no move is counted twice.
-- incremental_by: profile_id
-- note: core/move_links.sql decides which departure and arrival form one move, core/transfers.sql which moves are transfers.
-- note: Direction compares levels. A manager who becomes a lead without a team moves sideways, not down.
-- values: direction: up | down | sideways | unknown
-- values: from_level: intern | entry | mid | senior | lead | manager | director | vp | cxo | unknown
-- values: to_level: intern | entry | mid | senior | lead | manager | director | vp | cxo | unknown
-- values: transfer_kind: alias | rename | acquisition | spin-off (or null)
-- references: left_event_key -> job_change_events.event_key
-- references: joined_event_key -> job_change_events.event_key
-- columns:
--   left_event_key: event_key of the leaving.
--   joined_event_key: event_key of the joining; unique.
--   profile_id: The service's stable id of the person.
--   person_full_name: The person's name in the last event at the organisation that was joined.
--   person_network_url: The newest known address of the person's public page, as sent; null when none is known.
--   from_organization_id: The organisation that was left.
--   to_organization_id: The organisation that was joined; never the one that was left.
--   from_organization_name: Name of the organisation that was left, as written.
--   to_organization_name: Name of the organisation that was joined, as written.
--   from_stint_number: The number of the person's stint at from_organization_id that ended.
--   to_stint_number: The number of the person's stint at to_organization_id that began.
--   left_at: When the person left, UTC.
--   left_on: The day of left_at, UTC.
--   joined_at: When the person joined, UTC.
--   joined_on: The day of joined_at, UTC.
--   month_start_on: First day of the month of joined_at, UTC.
--   from_title: The last title known at the organisation that was left, as written.
--   to_title: The first title known at the organisation that was joined, as written.
--   from_level: Level of from_title: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   to_level: Level of to_title, as for from_level.
--   from_function: Field of work of from_title; other where it names none, unknown where it is not understood.
--   to_function: Field of work of to_title, as for from_function.
--   gap_days: Calendar days from leaving to joining, -31 to 180; negative when the joining came first.
--   gap_days_min: The fewest days that the precision of both dates allows.
--   gap_days_max: The most days that the precision of both dates allows.
--   is_direct: True where gap_days is at most 31: nothing between the two jobs according to the dates.
--   direction: up, down or sideways in level; unknown where either level is unknown.
--   detected_at: When the service had seen both events, UTC.
--   first_seen_at: When both events had been received, UTC.
--   is_transfer: True where an acquisition, a rename or the like moved the person, rather than a change of job: see transfer_candidates.
--   is_flow: Whether the move counts in talent_flows: it is not a transfer, and both employers are organisations, unlike Self-employed and Stealth Startup.
--   transfer_kind: rename, acquisition, spin-off or alias; null where the move is not a transfer.
select
    linked.left_event_key,
    linked.joined_event_key,
    departures.profile_id,
    arrivals.person_full_name,
    departures.person_network_url,
    departures.organization_id as from_organization_id,
    arrivals.organization_id as to_organization_id,
    departures.organization_name as from_organization_name,
    arrivals.organization_name as to_organization_name,
    departures.stint_number as from_stint_number,
    arrivals.stint_number as to_stint_number,
    departures.left_at,
    departures.left_on,
    arrivals.joined_at,
    arrivals.joined_on,
    month_start(arrivals.joined_at) as month_start_on,
    departures.last_title as from_title,
    arrivals.first_title as to_title,
    departures.level as from_level,
    arrivals.first_level as to_level,
    departures.function as from_function,
    arrivals.first_function as to_function,
    days_between(departures.left_at, arrivals.joined_at) as gap_days,
    days_between_dates(latest_dated(departures.left_at, departures.left_precision), utc_date(arrivals.joined_at)) as gap_days_min,
    days_between_dates(utc_date(departures.left_at), latest_dated(arrivals.joined_at, arrivals.joined_precision)) as gap_days_max,
    days_between(departures.left_at, arrivals.joined_at) <= 31 as is_direct,
    case
        when departures.level_order is null or arrivals.first_level_order is null then 'unknown'
        when departures.level = 'manager' and arrivals.first_level = 'lead' and not arrivals.first_is_management
            then 'sideways'
        when departures.level_order < arrivals.first_level_order then 'up'
        when departures.level_order > arrivals.first_level_order then 'down'
        else 'sideways'
    end as direction,
    greatest(departures.left_detected_at, arrivals.joined_detected_at) as detected_at,
    greatest(departures.left_first_seen_at, arrivals.joined_first_seen_at) as first_seen_at,
    transfers.left_event_key is not null as is_transfer,
    transfers.left_event_key is null and linked.is_between_employers as is_flow,
    transfers.kind as transfer_kind
from move_links as linked
inner join stints as departures on departures.left_event_key = linked.left_event_key
inner join stints as arrivals on arrivals.joined_event_key = linked.joined_event_key
left join transfers
    on transfers.left_event_key = linked.left_event_key
    and transfers.joined_event_key = linked.joined_event_key
