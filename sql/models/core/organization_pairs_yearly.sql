-- grain: One row per pair of organisations, in that direction, and year in which at least one person left the first and joined the second next.
-- key: from_organization_id, to_organization_id, year
-- references: from_organization_id -> organizations.organization_id
-- references: to_organization_id -> organizations.organization_id
-- purpose: The number of moves between two organisations by year of leaving, from which talent_flows_yearly computes shares and lifts.
-- note: The moves are those of organization_pairs, and add up to it; but people who moved in two years count in both.
-- columns:
--   from_organization_id: The organisation that was left.
--   to_organization_id: The organisation that was joined; never the one that was left.
--   year: Calendar year of leaving, UTC.
--   people: The number of different people who moved.
--   moves: The number of moves; more than people when one person moved twice.
select
    from_organization_id,
    to_organization_id,
    cast(extract(year from left_on) as integer) as year,
    cast(count(distinct profile_id) as integer) as people,
    cast(count(*) as integer) as moves
from moves
where is_flow
group by from_organization_id, to_organization_id, cast(extract(year from left_on) as integer)
