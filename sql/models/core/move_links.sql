-- grain: One row per departure that is linked to an arrival of the same person elsewhere.
-- key: left_event_key
-- purpose: The pairs of events that form one move: the basis of moves, and of the deals in transfer_candidates.
-- incremental_by: profile_id
-- note: A departure and an arrival can be one move when the joining is at most 180 days after the leaving, or at most 31 days
-- note: before it (dates are often known to the month only). They are linked when each is the other's nearest in days; ties go
-- note: to joining after leaving, then to the earlier leaving, the earlier joining, then the ids. So a departure has at most
-- note: one arrival and an arrival at most one departure. A return to the same organisation uses up the departure and is not a
-- note: move; neither is joining a second organisation without leaving the first, nor anything with a side role such as a board
-- note: seat.
-- columns:
--   left_event_key: event_key of the leaving.
--   joined_event_key: event_key of the joining; unique.
--   profile_id: The service's stable id of the person.
--   from_organization_id: The organisation that was left.
--   to_organization_id: The organisation that was joined; never the one that was left.
--   from_stint_number: The number of the person's stint at from_organization_id that ended.
--   joined_at: When the person joined, UTC.
--   gap_days: Calendar days from leaving to joining, -31 to 180; negative when the joining came first.
--   is_between_employers: Whether both employers are organisations; Self-employed and Stealth Startup do not count (pseudo_employers).
with

pairs as (
    select
        departures.left_event_key,
        arrivals.joined_event_key,
        departures.profile_id,
        departures.organization_id as from_organization_id,
        arrivals.organization_id as to_organization_id,
        departures.stint_number as from_stint_number,
        departures.left_at,
        arrivals.joined_at,
        days_between(departures.left_at, arrivals.joined_at) as gap_days,
        departures.employer_kind is null and arrivals.employer_kind is null as is_between_employers
    from stints as departures
    inner join stints as arrivals
        on departures.profile_id = arrivals.profile_id
        and (
            departures.organization_id <> arrivals.organization_id
            or departures.stint_number < arrivals.stint_number
        )
    where
        departures.is_primary
        and arrivals.is_primary
        and days_between(departures.left_at, arrivals.joined_at) between -31 and 180
),

-- One total order of all pairs of a person serves both sides; with two orders a circle of second choices could form.
ordered as (
    select
        left_event_key,
        joined_event_key,
        profile_id,
        from_organization_id,
        to_organization_id,
        from_stint_number,
        joined_at,
        gap_days,
        is_between_employers,
        row_number() over (
            partition by profile_id
            order by
                abs(gap_days),
                gap_days desc,
                case when from_organization_id = to_organization_id then 1 else 0 end,
                left_at,
                joined_at,
                left_event_key,
                joined_event_key
        ) as nearness
    from pairs
),

nearest as (
    select
        left_event_key,
        joined_event_key,
        profile_id,
        from_organization_id,
        to_organization_id,
        from_stint_number,
        joined_at,
        gap_days,
        is_between_employers,
        nearness,
        min(nearness) over (partition by profile_id, left_event_key) as nearest_of_departure,
        min(nearness) over (partition by profile_id, joined_event_key) as nearest_of_arrival
    from ordered
)

select
    left_event_key,
    joined_event_key,
    profile_id,
    from_organization_id,
    to_organization_id,
    from_stint_number,
    joined_at,
    gap_days,
    is_between_employers
from nearest
where
    nearness = nearest_of_departure
    and nearness = nearest_of_arrival
    and from_organization_id <> to_organization_id
