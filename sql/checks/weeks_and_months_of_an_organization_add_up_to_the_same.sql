-- scope: organization_id
with

counted as (
    select organization_id, joiners, leavers, promotions, boomerangs, 'weeks' as source
    from organization_weekly
    union all
    select organization_id, joiners, leavers, promotions, boomerangs, 'months' as source
    from organization_monthly
    union all
    select organization_id, joiners, leavers, promotions, boomerangs, 'total' as source
    from organizations
),

summed as (
    select
        organization_id,
        source,
        sum(joiners) as joiners,
        sum(leavers) as leavers,
        sum(promotions) as promotions,
        sum(boomerangs) as boomerangs
    from counted
    group by organization_id, source
)

select
    organization_id,
    count(distinct joiners) as different_joiners,
    count(distinct leavers) as different_leavers,
    count(distinct promotions) as different_promotions,
    count(distinct boomerangs) as different_boomerangs
from summed
-- An organisation without a week has zeros in total.
where joiners + leavers + promotions + boomerangs > 0
group by organization_id
having
    count(distinct joiners) > 1
    or count(distinct leavers) > 1
    or count(distinct promotions) > 1
    or count(distinct boomerangs) > 1
    or count(*) <> 3
