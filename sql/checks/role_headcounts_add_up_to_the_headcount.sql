-- At the end of what was looked at, the people of all roles of an organisation are its people.
-- incremental_by: organization_id
with

counted as (
    select headcount.organization_id, headcount.headcount_min, headcount.headcount_max
    from organization_headcount_monthly as headcount
    inner join organization_observation as observed
        on observed.organization_id = headcount.organization_id
        and observed.observed_until_on = headcount.month_start_on
    union all
    select roles.organization_id, -roles.headcount_min as headcount_min, -roles.headcount_max as headcount_max
    from role_headcount_monthly as roles
    inner join organization_observation as observed
        on observed.organization_id = roles.organization_id
        and observed.observed_until_on = roles.month_start_on
)

select organization_id, sum(headcount_min) as too_many, sum(headcount_max) as too_many_possible
from counted
group by organization_id
having sum(headcount_min) <> 0 or sum(headcount_max) <> 0
