with

counted as (
    select
        'joiners' as measure,
        (select count(*) from joiners where is_primary) as in_rows,
        (select coalesce(sum(joiners), 0) from organization_weekly) as in_weeks,
        (select coalesce(sum(joiners), 0) from organization_monthly) as in_months,
        (select coalesce(sum(joiners), 0) from organizations) as in_organizations
    union all
    select
        'leavers' as measure,
        (select count(*) from leavers where is_primary) as in_rows,
        (select coalesce(sum(leavers), 0) from organization_weekly) as in_weeks,
        (select coalesce(sum(leavers), 0) from organization_monthly) as in_months,
        (select coalesce(sum(leavers), 0) from organizations) as in_organizations
    union all
    select
        'promotions' as measure,
        (select count(*) from promotions where is_primary) as in_rows,
        (select coalesce(sum(promotions), 0) from organization_weekly) as in_weeks,
        (select coalesce(sum(promotions), 0) from organization_monthly) as in_months,
        (select coalesce(sum(promotions), 0) from organizations) as in_organizations
    union all
    select
        'side roles' as measure,
        (select count(*) from joiners where not is_primary)
        + (select count(*) from leavers where not is_primary) as in_rows,
        (select coalesce(sum(side_joiners + side_leavers), 0) from organization_weekly) as in_weeks,
        (select coalesce(sum(side_joiners + side_leavers), 0) from organization_monthly) as in_months,
        (select coalesce(sum(side_joiners + side_leavers), 0) from organization_monthly) as in_organizations
)

select measure, in_rows, in_weeks, in_months, in_organizations
from counted
where in_rows <> in_weeks or in_rows <> in_months or in_rows <> in_organizations
