with

entries as (
    select
        organization_id,
        joiners as joiners_by_month,
        0 as joiners_in_all,
        leavers as leavers_by_month,
        0 as leavers_in_all,
        promotions as promotions_by_month,
        0 as promotions_in_all,
        boomerangs as boomerangs_by_month,
        0 as boomerangs_in_all,
        side_joiners + side_leavers as side_roles_by_month,
        transfers_in + transfers_out as transfers_by_month,
        0 as transfers_in_all
    from organization_monthly
    union all
    select
        organization_id,
        0 as joiners_by_month,
        joiners_ever as joiners_in_all,
        0 as leavers_by_month,
        leavers_ever as leavers_in_all,
        0 as promotions_by_month,
        promotions_ever as promotions_in_all,
        0 as boomerangs_by_month,
        boomerangs_ever as boomerangs_in_all,
        0 as side_roles_by_month,
        0 as transfers_by_month,
        transfers_in_ever + transfers_out_ever as transfers_in_all
    from organizations
    union all
    select
        organization_id,
        case when is_primary and not is_transfer then -1 else 0 end as joiners_by_month,
        case when is_primary and not is_transfer then -1 else 0 end as joiners_in_all,
        0 as leavers_by_month,
        0 as leavers_in_all,
        0 as promotions_by_month,
        0 as promotions_in_all,
        case when is_primary and is_boomerang and not is_transfer then -1 else 0 end as boomerangs_by_month,
        case when is_primary and is_boomerang and not is_transfer then -1 else 0 end as boomerangs_in_all,
        case when is_primary then 0 else -1 end as side_roles_by_month,
        case when is_transfer then -1 else 0 end as transfers_by_month,
        case when is_transfer then -1 else 0 end as transfers_in_all
    from joiners
    union all
    select
        organization_id,
        0 as joiners_by_month,
        0 as joiners_in_all,
        case when is_primary and not is_transfer then -1 else 0 end as leavers_by_month,
        case when is_primary and not is_transfer then -1 else 0 end as leavers_in_all,
        0 as promotions_by_month,
        0 as promotions_in_all,
        0 as boomerangs_by_month,
        0 as boomerangs_in_all,
        case when is_primary then 0 else -1 end as side_roles_by_month,
        case when is_transfer then -1 else 0 end as transfers_by_month,
        case when is_transfer then -1 else 0 end as transfers_in_all
    from leavers
    union all
    select
        organization_id,
        0 as joiners_by_month,
        0 as joiners_in_all,
        0 as leavers_by_month,
        0 as leavers_in_all,
        -1 as promotions_by_month,
        -1 as promotions_in_all,
        0 as boomerangs_by_month,
        0 as boomerangs_in_all,
        0 as side_roles_by_month,
        0 as transfers_by_month,
        0 as transfers_in_all
    from promotions
    where is_primary
)

select
    organization_id,
    sum(joiners_by_month) as joiners_by_month,
    sum(leavers_by_month) as leavers_by_month,
    sum(promotions_by_month) as promotions_by_month,
    sum(boomerangs_by_month) as boomerangs_by_month,
    sum(side_roles_by_month) as side_roles_by_month,
    sum(transfers_by_month) as transfers_by_month,
    sum(transfers_in_all) as transfers_in_all,
    sum(joiners_in_all) as joiners_in_all,
    sum(leavers_in_all) as leavers_in_all,
    sum(promotions_in_all) as promotions_in_all,
    sum(boomerangs_in_all) as boomerangs_in_all
from entries
group by organization_id
having
    sum(joiners_by_month) <> 0
    or sum(leavers_by_month) <> 0
    or sum(promotions_by_month) <> 0
    or sum(boomerangs_by_month) <> 0
    or sum(side_roles_by_month) <> 0
    or sum(transfers_by_month) <> 0
    or sum(transfers_in_all) <> 0
    or sum(joiners_in_all) <> 0
    or sum(leavers_in_all) <> 0
    or sum(promotions_in_all) <> 0
    or sum(boomerangs_in_all) <> 0
