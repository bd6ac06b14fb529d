with

counted as (
    select organization_id, cohort_year, exits + censored as in_curves, 0 as joined
    from tenure_counts
    union all
    select
        joiners.organization_id,
        cast(extract(year from joiners.joined_on) as integer) as cohort_year,
        0 as in_curves,
        1 as joined
    from joiners
    inner join organization_observation as observed on observed.organization_id = joiners.organization_id
    where joiners.is_primary and joiners.precision <> 'unknown' and not joiners.is_transfer and joiners.month_start_on < observed.cutoff_on
)

select organization_id, cohort_year, sum(in_curves) as in_curves, sum(joined) as joined
from counted
group by organization_id, cohort_year
having sum(in_curves) <> sum(joined)
