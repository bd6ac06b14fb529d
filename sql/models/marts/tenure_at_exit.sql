-- grain: One row per organisation, year of joining, and calendar months of tenure after which anybody of the year left or was last seen there.
-- key: organization_id, cohort_year, tenure_calendar_months
-- tier: detail
-- kind: view
-- purpose: How long people stay: the survival curve (Kaplan-Meier) of those who joined in one year.
-- note: The mean tenure of leavers alone is too short, because those who stay have none yet (survivor bias). Here they count as
-- note: long as they were seen to stay: until cutoff_on of organizations (censored), by when 90 of 100 leavings have been seen. In one
-- note: month, exits come before what is censored. Tenure is counted in calendar months, because most dates are known to the
-- note: month only: from 31 January to 1 February is one. leavers.tenure_months counts whole months, of which that is none.
-- note: Main jobs whose joining was seen. Whom a transfer took along is censored then, and whom one brought is in no cohort:
-- note: group_stints has the tenure across transfers. A leaving dated at the cutoff or later is not one yet. A cohort that joined before
-- note: observed_from_on of organizations holds only those who were detected late (is_fully_observed is false): leave it out.
-- note: tenure_survival has survival after 12, 24 and 36 months and the median, of each year and of all.
-- note: A view over tenure_counts: every leaving changes the rest of its curve, so that most would be written again every night.
-- note: To pool cohorts or organisations, add up exits and censored by tenure_calendar_months; at risk at t is then the sum of both
-- note: over all rows of t months and more, and survival the product of 1 - exits / at risk.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   cohort_year: Calendar year of joining, UTC.
--   tenure_calendar_months: Calendar months from the month of joining to that of leaving or of being last seen; 0 when they are one.
--   exits: People who left after so many months.
--   censored: People who were still there after so many months: at the data cutoff, where a leaving that was not seen came later, or when a transfer took them along.
--   at_risk: People of the cohort who stayed so many months or more: those of exits, of censored, and of all later rows.
--   survival: Share of the cohort that stays longer than so many months, 0 to 1, as estimated from everybody.
--   is_fully_observed: Whether joinings and leavings were looked for during the whole year of joining, up to the data cutoff.
with

exposed as (
    select
        organization_id,
        cohort_year,
        tenure_calendar_months,
        exits,
        censored,
        sum(exits + censored) over (
            partition by organization_id, cohort_year
            order by tenure_calendar_months
            rows between current row and unbounded following
        ) as at_risk
    from tenure_counts
),

-- A product as a sum of logarithms, in decimals: a sum of floating-point numbers would depend on the order of the rows.
staying as (
    select
        organization_id,
        cohort_year,
        tenure_calendar_months,
        exits,
        censored,
        at_risk,
        sum(cast(case when exits < at_risk then ln(1 - cast(exits as double) / at_risk) else 0 end as decimal(18, 14))) over (
            partition by organization_id, cohort_year
            order by tenure_calendar_months
            rows between unbounded preceding and current row
        ) as log_survival
    from exposed
)

select
    staying.organization_id,
    staying.cohort_year,
    staying.tenure_calendar_months,
    staying.exits,
    staying.censored,
    cast(staying.at_risk as integer) as at_risk,
    -- The last to leave leaves nobody behind: that is the last row of its cohort, and has no logarithm.
    case when staying.exits = staying.at_risk then 0 else round(exp(cast(staying.log_survival as double)), 9) end as survival,
    observed.observed_from_on is null
    or staying.cohort_year > extract(year from observed.observed_from_on)
    or (staying.cohort_year = extract(year from observed.observed_from_on) and extract(month from observed.observed_from_on) = 1)
        as is_fully_observed
from staying
inner join organization_observation as observed on observed.organization_id = staying.organization_id
