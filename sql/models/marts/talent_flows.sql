-- grain: One row per pair of organisations between which anybody moved, in that direction.
-- key: from_organization_id, to_organization_id
-- purpose: Who loses people to whom. Counts moves (see moves): each departure and each arrival at most once.
-- columns:
--   from_organization_id: The organisation that was left.
--   to_organization_id: The organisation that was joined; never the one that was left.
--   from_organization_name: Name of the organisation that was left, as written in its latest move of the pair.
--   to_organization_name: Name of the organisation that was joined, as written in its latest move of the pair.
--   people: How many different people moved.
--   moves: How many moves; more than people when somebody moved twice.
--   first_moved_at: When the first of them joined, UTC.
--   last_moved_at: When the last of them joined, UTC.
--   median_gap_days: Median of the calendar days from leaving to joining; negative when joining came first.
with

named_moves as (
    select
        moves.from_organization_id,
        moves.to_organization_id,
        moves.profile_id,
        moves.joined_at,
        moves.gap_days,
        departures.organization_name as from_organization_name,
        arrivals.organization_name as to_organization_name,
        row_number() over (
            partition by moves.from_organization_id, moves.to_organization_id
            order by moves.joined_at desc, moves.joined_event_key
        ) as recency
    from moves
    inner join job_change_events as departures on departures.event_key = moves.left_event_key
    inner join job_change_events as arrivals on arrivals.event_key = moves.joined_event_key
)

select
    from_organization_id,
    to_organization_id,
    max(case when recency = 1 then from_organization_name end) as from_organization_name,
    max(case when recency = 1 then to_organization_name end) as to_organization_name,
    cast(count(distinct profile_id) as integer) as people,
    cast(count(*) as integer) as moves,
    min(joined_at) as first_moved_at,
    max(joined_at) as last_moved_at,
    cast(median(gap_days) as double) as median_gap_days
from named_moves
group by from_organization_id, to_organization_id
