-- grain: One row per pair of organisations with at least one move, in that direction.
-- key: from_organization_id, to_organization_id
-- references: from_organization_id -> organizations.organization_id
-- references: to_organization_id -> organizations.organization_id
-- purpose: The number of moves between two organisations, which talent_flows divides by all leavings and joinings.
-- note: Transfers are left out: a person whose company was bought did not choose the other one. Self-employed and the like are
-- note: not organisations.
-- note: This model is separate from talent_flows because a daily build changes few pairs, but the shares of most.
-- columns:
--   from_organization_id: The organisation that was left.
--   to_organization_id: The organisation that was joined; never the one that was left.
--   people: The number of different people who moved.
--   moves: The number of moves; more than people when one person moved twice.
--   direct_moves: Moves with at most 31 days between leaving and joining.
--   up_moves: Moves to a clearly higher level.
--   down_moves: Moves to a clearly lower level.
--   first_moved_at: When the first of these people joined, UTC.
--   last_moved_at: When the last of these people joined, UTC.
--   median_gap_days: Median of the calendar days from leaving to joining; negative when joining came first.
select
    from_organization_id,
    to_organization_id,
    cast(count(distinct profile_id) as integer) as people,
    cast(count(*) as integer) as moves,
    cast(count(case when is_direct then 1 end) as integer) as direct_moves,
    cast(count(case when direction = 'up' then 1 end) as integer) as up_moves,
    cast(count(case when direction = 'down' then 1 end) as integer) as down_moves,
    min(joined_at) as first_moved_at,
    max(joined_at) as last_moved_at,
    cast(median(gap_days) as double) as median_gap_days
from moves
where is_flow
group by from_organization_id, to_organization_id
