-- grain: One row per pair of organisations with at least one move, in that direction.
-- key: from_organization_id, to_organization_id
-- kind: view
-- purpose: Who loses people to whom. Counts the moves with is_flow (see moves): each departure and each arrival at most once.
-- note: Transfers, people who came with an acquisition or the like, are not flows (see is_transfer in moves). Neither are
-- note: returns to the same organisation or side roles (boards, advisers). This is a view: every leaving changes the shares of
-- note: all flows from that organisation, so a table would be rewritten every day.
-- columns:
--   from_organization_id: The organisation that was left.
--   to_organization_id: The organisation that was joined; never the one that was left.
--   from_organization_name: Name of the organisation that was left, as in organizations.
--   to_organization_name: Name of the organisation that was joined, as in organizations.
--   people: The number of different people who moved.
--   moves: The number of moves; more than people when one person moved twice.
--   reverse_moves: The number of moves the other way.
--   net_moves: moves minus reverse_moves.
--   share_of_leavers: moves divided by all leavings of main jobs at the organisation that was left, excluding transfers, 0 to 1; leavings without a known destination are included; null where that organisation was seen through filters alone.
--   share_of_joiners: moves divided by all joinings of main jobs at the organisation that was joined, excluding transfers, 0 to 1; null where that organisation was seen through filters alone.
--   direct_moves: Moves with at most 31 days between leaving and joining.
--   up_moves: Moves to a clearly higher level.
--   down_moves: Moves to a clearly lower level.
--   first_moved_at: When the first of these people joined, UTC.
--   last_moved_at: When the last of these people joined, UTC.
--   median_gap_days: Median of the calendar days from leaving to joining; negative when joining came first.
select
    flows.from_organization_id,
    flows.to_organization_id,
    sources.name as from_organization_name,
    targets.name as to_organization_name,
    flows.people,
    flows.moves,
    coalesce(reverse.moves, 0) as reverse_moves,
    flows.moves - coalesce(reverse.moves, 0) as net_moves,
    case when sources.observed_until_on is not null then cast(flows.moves as double) / sources.leavers_ever end as share_of_leavers,
    case when targets.observed_until_on is not null then cast(flows.moves as double) / targets.joiners_ever end as share_of_joiners,
    flows.direct_moves,
    flows.up_moves,
    flows.down_moves,
    flows.first_moved_at,
    flows.last_moved_at,
    flows.median_gap_days
from organization_pairs as flows
inner join organizations as sources on sources.organization_id = flows.from_organization_id
inner join organizations as targets on targets.organization_id = flows.to_organization_id
left join organization_pairs as reverse
    on reverse.from_organization_id = flows.to_organization_id
    and reverse.to_organization_id = flows.from_organization_id
