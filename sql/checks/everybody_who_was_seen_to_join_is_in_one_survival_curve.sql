-- scope: organization_id
with

counted as (
    select organization_id, exits + censored as in_curves, 0 as joined
    from tenure_at_exit
    union all
    select stints.organization_id, 0 as in_curves, 1 as joined
    from stints
    inner join organizations on organizations.organization_id = stints.organization_id
    where stints.is_primary and month_start(stints.joined_at) <= organizations.observed_until_on
)

select organization_id, sum(in_curves) as in_curves, sum(joined) as joined
from counted
group by organization_id
having sum(in_curves) <> sum(joined)
