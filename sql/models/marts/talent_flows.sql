-- grain: One row per pair of organisations between which anybody moved, in that direction.
-- key: from_organization_id, to_organization_id
-- references: from_organization_id -> organizations.organization_id
-- references: to_organization_id -> organizations.organization_id
-- purpose: Who loses people to whom. Counts moves (see moves): each departure and each arrival at most once.
-- note: People who leave an organisation and come back to it make no flow. Side roles (boards, advisers) make none either.
-- columns:
--   from_organization_id: The organisation that was left.
--   to_organization_id: The organisation that was joined; never the one that was left.
--   from_organization_name: Name of the organisation that was left, as in organizations.
--   to_organization_name: Name of the organisation that was joined, as in organizations.
--   people: How many different people moved.
--   moves: How many moves; more than people when somebody moved twice.
--   reverse_moves: How many moves went the other way.
--   net_moves: moves minus reverse_moves.
--   share_of_leavers: moves divided by all leavings of main jobs at the organisation that was left, 0 to 1; leavings without a known destination are among them.
--   share_of_joiners: moves divided by all joinings of main jobs at the organisation that was joined, 0 to 1.
--   direct_moves: Moves with at most 31 days between leaving and joining.
--   up_moves: Moves to a clearly higher level.
--   down_moves: Moves to a clearly lower level.
--   first_moved_at: When the first of them joined, UTC.
--   last_moved_at: When the last of them joined, UTC.
--   median_gap_days: Median of the calendar days from leaving to joining; negative when joining came first.
with

flows as (
    select
        came_from_organization_id as from_organization_id,
        organization_id as to_organization_id,
        count(distinct profile_id) as people,
        count(*) as moves,
        count(case when is_direct then 1 end) as direct_moves,
        count(case when direction = 'up' then 1 end) as up_moves,
        count(case when direction = 'down' then 1 end) as down_moves,
        min(joined_at) as first_moved_at,
        max(joined_at) as last_moved_at,
        median(gap_days) as median_gap_days
    from joiners
    where came_from_organization_id is not null
    group by came_from_organization_id, organization_id
)

select
    flows.from_organization_id,
    flows.to_organization_id,
    sources.name as from_organization_name,
    targets.name as to_organization_name,
    cast(flows.people as integer) as people,
    cast(flows.moves as integer) as moves,
    cast(coalesce(reverse.moves, 0) as integer) as reverse_moves,
    cast(flows.moves - coalesce(reverse.moves, 0) as integer) as net_moves,
    cast(flows.moves as double) / sources.leavers as share_of_leavers,
    cast(flows.moves as double) / targets.joiners as share_of_joiners,
    cast(flows.direct_moves as integer) as direct_moves,
    cast(flows.up_moves as integer) as up_moves,
    cast(flows.down_moves as integer) as down_moves,
    flows.first_moved_at,
    flows.last_moved_at,
    cast(flows.median_gap_days as double) as median_gap_days
from flows
inner join organizations as sources on sources.organization_id = flows.from_organization_id
inner join organizations as targets on targets.organization_id = flows.to_organization_id
left join flows as reverse
    on reverse.from_organization_id = flows.to_organization_id
    and reverse.to_organization_id = flows.from_organization_id
