-- incremental_by: organization_id
with

counted as (
    select organization_id, cohort_year, exits + censored as in_curves, 0 as joined
    from tenure_counts
    union all
    select stints.organization_id, stints.cohort_year, 0 as in_curves, 1 as joined
    from stints
    inner join data_cutoffs on data_cutoffs.organization_id = stints.organization_id
    where stints.is_primary and month_start(stints.joined_at) < data_cutoffs.cutoff_on
)

select organization_id, cohort_year, sum(in_curves) as in_curves, sum(joined) as joined
from counted
group by organization_id, cohort_year
having sum(in_curves) <> sum(joined)
