with

entries as (
    select
        organization_id,
        joiners,
        leavers,
        promotions,
        boomerangs,
        side_joiners + side_leavers as side_roles,
        transfers_in + transfers_out as transfers
    from organization_weekly
    union all
    select
        organization_id,
        -joiners as joiners,
        -leavers as leavers,
        -promotions as promotions,
        -boomerangs as boomerangs,
        -(side_joiners + side_leavers) as side_roles,
        -(transfers_in + transfers_out) as transfers
    from organization_monthly
)

select
    organization_id,
    sum(joiners) as joiners,
    sum(leavers) as leavers,
    sum(promotions) as promotions,
    sum(boomerangs) as boomerangs,
    sum(side_roles) as side_roles,
    sum(transfers) as transfers
from entries
group by organization_id
having
    sum(joiners) <> 0
    or sum(leavers) <> 0
    or sum(promotions) <> 0
    or sum(boomerangs) <> 0
    or sum(side_roles) <> 0
    or sum(transfers) <> 0
