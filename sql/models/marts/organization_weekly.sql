-- grain: One row per organisation and week in which anybody joined, left or was promoted.
-- key: organization_id, week_start_on
-- purpose: How many people came, went and rose each week. No row means that no change was seen, not that none happened.
-- partition: year of week_start_on
-- columns:
--   organization_id: The service's stable id of the organisation.
--   week_start_on: The Monday of the week, UTC.
--   joiners: Joinings in the week.
--   leavers: Leavings in the week.
--   promotions: Promotions in the week.
--   net: joiners minus leavers.
with

changes as (
    select organization_id, week_start(joined_at) as week_start_on, 1 as joiners, 0 as leavers, 0 as promotions
    from joiners
    union all
    select organization_id, week_start(left_at) as week_start_on, 0 as joiners, 1 as leavers, 0 as promotions
    from leavers
    union all
    select organization_id, week_start(promoted_at) as week_start_on, 0 as joiners, 0 as leavers, 1 as promotions
    from promotions
)

select
    organization_id,
    week_start_on,
    cast(sum(joiners) as integer) as joiners,
    cast(sum(leavers) as integer) as leavers,
    cast(sum(promotions) as integer) as promotions,
    cast(sum(joiners) - sum(leavers) as integer) as net
from changes
group by organization_id, week_start_on
