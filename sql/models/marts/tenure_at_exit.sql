-- grain: One row per organisation, year of joining, and whole months of tenure after which anybody of the year left or was last seen there.
-- key: organization_id, cohort_year, tenure_months
-- kind: view
-- purpose: How long people stay: the survival curve (Kaplan-Meier) of those who joined in one year.
-- note: The mean tenure of leavers alone is too short, because those who stay have none yet (survivor bias). Here they count as
-- note: long as they were seen to stay: until observed_until_on of organizations (censored). In one month, exits come before
-- note: what is censored. Tenure is counted in calendar months, because most dates are known to the month only.
-- note: Main jobs whose joining was seen. A leaving dated after observed_until_on is not one yet.
-- note: A view over tenure_counts: every leaving changes the rest of its curve, so that most would be written again every night.
-- note: To pool cohorts or organisations, add up exits and censored by tenure_months; at risk at t is then the sum of both over
-- note: all rows of t months and more, and survival the product of 1 - exits / at risk.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   cohort_year: Calendar year of joining, UTC.
--   tenure_months: Calendar months from the month of joining to that of leaving or of being last seen; 0 when they are one.
--   exits: People who left after so many months.
--   censored: People who were still there after so many months when the organisation was last looked at.
--   at_risk: People of the cohort who stayed so many months or more: those of exits, of censored, and of all later rows.
--   survival: Share of the cohort that stays longer than so many months, 0 to 1, as estimated from everybody.
with

exposed as (
    select
        organization_id,
        cohort_year,
        tenure_months,
        exits,
        censored,
        sum(exits + censored) over (
            partition by organization_id, cohort_year
            order by tenure_months
            rows between current row and unbounded following
        ) as at_risk
    from tenure_counts
),

-- A product as a sum of logarithms, in decimals: a sum of floating-point numbers would depend on the order of the rows.
staying as (
    select
        organization_id,
        cohort_year,
        tenure_months,
        exits,
        censored,
        at_risk,
        sum(cast(case when exits < at_risk then ln(1 - cast(exits as double) / at_risk) else 0 end as decimal(28, 18))) over (
            partition by organization_id, cohort_year
            order by tenure_months
            rows between unbounded preceding and current row
        ) as log_survival
    from exposed
)

select
    organization_id,
    cohort_year,
    tenure_months,
    exits,
    censored,
    cast(at_risk as integer) as at_risk,
    -- The last to leave leaves nobody behind: that is the last row of its cohort, and has no logarithm.
    case when exits = at_risk then 0 else round(exp(cast(log_survival as double)), 9) end as survival
from staying
