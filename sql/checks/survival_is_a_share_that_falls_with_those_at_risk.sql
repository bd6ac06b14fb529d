-- scope: organization_id, cohort_year
with

steps as (
    select
        organization_id,
        cohort_year,
        tenure_months,
        exits,
        censored,
        at_risk,
        survival,
        coalesce(lag(survival) over curve, 1) as survival_before,
        lag(at_risk - exits - censored) over curve as left_over,
        lead(tenure_months) over curve as next_tenure_months
    from tenure_at_exit
    window curve as (partition by organization_id, cohort_year order by tenure_months)
)

select organization_id, cohort_year, tenure_months, exits, censored, at_risk, survival, survival_before, left_over
from steps
where
    exits < 0
    or censored < 0
    or exits + censored < 1
    or exits + censored > at_risk
    or (next_tenure_months is null and exits + censored <> at_risk)
    or at_risk <> coalesce(left_over, at_risk)
    or survival is null
    or survival not between 0 and survival_before
    or (exits = 0 and survival <> survival_before)
    or abs(survival - survival_before * (1 - cast(exits as double) / at_risk)) > 0.00000001
