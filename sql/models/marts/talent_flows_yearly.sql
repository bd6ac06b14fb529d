-- grain: One row per pair of organisations and year in which at least one person left the first and joined the second next.
-- key: from_organization_id, to_organization_id, year
-- tier: detail
-- kind: view
-- purpose: Who loses people to whom, year by year, and how much more than others do. Counts as talent_flows does, by the year of leaving.
-- note: Sums of moves can be pooled: the lift of several years, sources or destinations together is that of their sums. Only
-- note: flows have rows: for a share of all leavers of several years use leavers of organization_monthly, which also has years
-- note: without a flow. Only observed organisations have rows: moves seen through filters alone would change every share. This
-- note: is a view: one leaving changes the shares of its organisation, and the lifts of all flows of its year.
-- columns:
--   from_organization_id: The organisation that was left.
--   to_organization_id: The organisation that was joined next; never the one that was left.
--   year: Calendar year of leaving, UTC.
--   from_organization_name: Name of the organisation that was left, as in organizations.
--   to_organization_name: Name of the organisation that was joined, as in organizations.
--   people: The number of different people who moved.
--   moves: The number of moves; more than people when one person moved twice.
--   leavers: Leavings of main jobs in the year at the organisation that was left, excluding transfers.
--   known_leavers: Leavers whose destination is known: all moves from there.
--   known_share: known_leavers divided by leavers, 0 to 1.
--   share_of_known: moves divided by known_leavers, 0 to 1.
--   share_of_leavers: moves divided by leavers, 0 to 1.
--   expected_moves: The moves if the known leavers went there as often as all known leavers of the year did: known_leavers * moves there from anywhere / all moves of the year.
--   lift: moves divided by expected_moves: more than 1 where people go there more often than others do. Below 5 expected_moves, the lift is unreliable.
with

flows as (
    select
        pairs.from_organization_id,
        pairs.to_organization_id,
        pairs.year,
        froms.name as from_organization_name,
        tos.name as to_organization_name,
        pairs.people,
        pairs.moves
    from organization_pairs_yearly as pairs
    inner join organizations as froms on froms.organization_id = pairs.from_organization_id
    inner join organizations as tos on tos.organization_id = pairs.to_organization_id
    where froms.observed_until_on is not null and tos.observed_until_on is not null
),

leavings as (
    select
        organization_id,
        cast(extract(year from month_start_on) as integer) as year,
        count(*) as leavers
    from leavers
    where is_primary and not is_transfer
    group by organization_id, cast(extract(year from month_start_on) as integer)
),

-- The sums stay next to the rows: as separate tables joined by year, DuckDB's optimizer once crossed all sources with all
-- targets of a year.
summed as (
    select
        *,
        sum(moves) over (partition by from_organization_id, year) as moves_from,
        sum(moves) over (partition by to_organization_id, year) as moves_to,
        sum(moves) over (partition by year) as moves_of_all
    from flows
)

select
    summed.from_organization_id,
    summed.to_organization_id,
    summed.year,
    summed.from_organization_name,
    summed.to_organization_name,
    summed.people,
    summed.moves,
    cast(leavings.leavers as integer) as leavers,
    cast(summed.moves_from as integer) as known_leavers,
    cast(summed.moves_from as double) / leavings.leavers as known_share,
    cast(summed.moves as double) / summed.moves_from as share_of_known,
    cast(summed.moves as double) / leavings.leavers as share_of_leavers,
    cast(summed.moves_from as double) * summed.moves_to / summed.moves_of_all as expected_moves,
    cast(summed.moves as double) * summed.moves_of_all / summed.moves_from / summed.moves_to as lift
from summed
inner join leavings on leavings.organization_id = summed.from_organization_id and leavings.year = summed.year
