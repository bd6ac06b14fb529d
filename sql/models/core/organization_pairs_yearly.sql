-- grain: One row per pair of organisations, in that direction, and year in which anybody left the one whose next joining was at the other.
-- key: from_organization_id, to_organization_id, year
-- references: from_organization_id -> organizations.organization_id
-- references: to_organization_id -> organizations.organization_id
-- purpose: The moves between two organisations by year of leaving, counted. What talent_flows_yearly makes shares and lifts of.
-- note: Which moves, is told at organization_pairs, which this adds up to; but people who moved in two years count in both.
-- columns:
--   from_organization_id: The organisation that was left.
--   to_organization_id: The organisation that was joined; never the one that was left.
--   year: Calendar year of leaving, UTC.
--   people: How many different people moved.
--   moves: How many moves; more than people when somebody moved twice.
select
    from_organization_id,
    to_organization_id,
    cast(extract(year from left_on) as integer) as year,
    cast(count(distinct profile_id) as integer) as people,
    cast(count(*) as integer) as moves
from moves
where is_flow
group by from_organization_id, to_organization_id, cast(extract(year from left_on) as integer)
