-- grain: One row per organisation, year of joining, and number of calendar months of tenure after which people left or were last seen there.
-- key: organization_id, cohort_year, tenure_calendar_months
-- tier: detail
-- kind: view
-- purpose: How long people stay: the survival curve (Kaplan-Meier) of the people who joined in one year.
-- note: The mean tenure of leavers alone is too short, because those who stay have none yet (survivor bias). Here they count as
-- note: long as they were seen to stay: until cutoff_on of organizations (censored), by when 90 of 100 leavings have been seen.
-- note: Within a month, exits come before censoring. Tenure is counted in calendar months, because most dates are known to the
-- note: month only: from 31 January to 1 February is one month. leavers.tenure_months counts whole months: 0 in this example.
-- note: Only main jobs whose joining was seen count. People whom a transfer took along are censored then, and people whom one
-- note: brought are in no cohort: group_stints has the tenure across transfers. A leaving dated at the cutoff or later does
-- note: not count yet. A cohort that joined before observed_from_on of organizations holds only late detections
-- note: (is_fully_observed is false): leave it out. tenure_survival has survival after 12, 24 and 36 months and the median,
-- note: for each year and for all. This is a view over tenure_counts: every leaving changes the rest of its curve, so most
-- note: rows of a table would be rewritten every day. To pool cohorts or organisations, add up exits and censored by
-- note: tenure_calendar_months; at risk at t is then the sum of both over all rows of t months and more, and survival the
-- note: product of 1 - exits / at risk.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   cohort_year: Calendar year of joining, UTC.
--   tenure_calendar_months: Calendar months from the month of joining to the month of leaving or of being last seen; 0 when both are the same month.
--   exits: People who left after this many months.
--   censored: People who were still there after this many months: at the data cutoff, at the end of what was seen before a leaving that was not seen, or when a transfer took them along.
--   at_risk: People of the cohort who stayed this many months or more: exits and censored of this row and of all later rows.
--   survival: Share of the cohort that stays longer than this many months, 0 to 1, as estimated from the whole cohort.
--   is_fully_observed: Whether joinings and leavings were requested during the whole year of joining, up to the data cutoff.
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
    -- The last row of a cohort that ends empty has no logarithm.
    case when staying.exits = staying.at_risk then 0 else round(exp(cast(staying.log_survival as double)), 9) end as survival,
    observed.observed_from_on is null
    or staying.cohort_year > extract(year from observed.observed_from_on)
    or (staying.cohort_year = extract(year from observed.observed_from_on) and extract(month from observed.observed_from_on) = 1)
        as is_fully_observed
from staying
inner join organization_observation as observed on observed.organization_id = staying.organization_id
