-- grain: One row per organisation and year of joining, and one for all years.
-- key: organization_id, cohort
-- tier: detail
-- kind: view
-- purpose: How many stay 12, 24 and 36 months, and how long half of them stay, with 95 % confidence intervals.
-- note: The method is Kaplan-Meier, as in tenure_at_exit, which defines who counts and how long. The intervals are Greenwood's,
-- note: of log(-log survival); null where none or all have left. The row of all years (cohort all) pools the years that are
-- note: fully observed; an organisation without one has no such row.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   cohort: Calendar year of joining, UTC, as text; all for all fully observed years together.
--   cohort_year: cohort as a number; null for all.
--   is_fully_observed: Whether joinings and leavings were requested during the whole year of joining; see tenure_at_exit.
--   joiners: People who joined before the data cutoff.
--   exits: People who left before the data cutoff.
--   longest_calendar_months: The longest time that any joiner was followed: nothing is known beyond that.
--   survival_12_months: Share that stays longer than 12 calendar months, 0 to 1; null where none was followed that long.
--   survival_12_months_low: Lower end of the confidence interval of survival_12_months.
--   survival_12_months_high: Upper end of the confidence interval of survival_12_months.
--   survival_24_months: Share that stays longer than 24 calendar months.
--   survival_24_months_low: Lower end of the confidence interval of survival_24_months.
--   survival_24_months_high: Upper end of the confidence interval of survival_24_months.
--   survival_36_months: Share that stays longer than 36 calendar months.
--   survival_36_months_low: Lower end of the confidence interval of survival_36_months.
--   survival_36_months_high: Upper end of the confidence interval of survival_36_months.
--   median_calendar_months: Calendar months after which half of the joiners or more have left; null where more than half are known to stay.
--   median_calendar_months_low: Lower end of the confidence interval of the median; it can be known where the median is unknown.
--   median_calendar_months_high: Upper end of the confidence interval of the median; null where it is unknown.
with

yearly as (
    select
        counts.organization_id,
        counts.cohort_year,
        counts.tenure_calendar_months as months,
        counts.exits,
        counts.censored,
        observed.observed_from_on is null
        or counts.cohort_year > extract(year from observed.observed_from_on)
        or (counts.cohort_year = extract(year from observed.observed_from_on) and extract(month from observed.observed_from_on) = 1)
            as is_fully_observed
    from tenure_counts as counts
    inner join organization_observation as observed on observed.organization_id = counts.organization_id
),

-- The row of all cohorts has no year.
pooled as (
    select
        organization_id,
        cohort_year,
        is_fully_observed,
        months,
        exits,
        censored
    from yearly
    union all
    select
        organization_id,
        cast(null as integer) as cohort_year,
        true as is_fully_observed,
        months,
        sum(exits) as exits,
        sum(censored) as censored
    from yearly
    where is_fully_observed
    group by organization_id, months
),

exposed as (
    select
        organization_id,
        cohort_year,
        is_fully_observed,
        months,
        exits,
        censored,
        sum(exits + censored) over (
            partition by organization_id, cohort_year order by months rows between current row and unbounded following
        ) as at_risk
    from pooled
),

-- Sums of decimals: those of floating-point numbers would depend on the order of the rows. 18 digits fit into 64 bits.
staying as (
    select
        organization_id,
        cohort_year,
        is_fully_observed,
        months,
        exits,
        censored,
        at_risk,
        cast(
            sum(cast(case when exits < at_risk then ln(1 - cast(exits as double) / at_risk) else 0 end as decimal(18, 14))) over (
                partition by organization_id, cohort_year order by months rows between unbounded preceding and current row
            )
            as double
        ) as log_survival,
        cast(
            sum(
                cast(
                    case when exits < at_risk then cast(exits as double) / (cast(at_risk as double) * (at_risk - exits)) else 0 end
                    as decimal(18, 14)
                )
            ) over (
                partition by organization_id, cohort_year order by months rows between unbounded preceding and current row
            )
            as double
        ) as log_variance
    from exposed
),

-- survival to the power of exp(±1.96 standard errors of log(-log survival)).
curves as (
    select
        organization_id,
        cohort_year,
        is_fully_observed,
        months,
        exits,
        censored,
        case when exits = at_risk then 0 else round(exp(log_survival), 9) end as survival,
        case
            when exits < at_risk and log_survival < 0
                then round(exp(log_survival * exp(1.96 * sqrt(log_variance) / -log_survival)), 9)
        end as low,
        case
            when exits < at_risk and log_survival < 0
                then round(exp(log_survival * exp(-1.96 * sqrt(log_variance) / -log_survival)), 9)
        end as high
    from staying
),

summaries as (
    select
        organization_id,
        cohort_year,
        is_fully_observed,
        sum(exits + censored) as joiners,
        sum(exits) as exits,
        max(months) as longest,
        min(survival) as survival_at_end,
        max_by(survival, case when months <= 12 then months end) as survival_12,
        nullif(max_by(coalesce(low, -1), case when months <= 12 then months end), -1) as low_12,
        nullif(max_by(coalesce(high, -1), case when months <= 12 then months end), -1) as high_12,
        max_by(survival, case when months <= 24 then months end) as survival_24,
        nullif(max_by(coalesce(low, -1), case when months <= 24 then months end), -1) as low_24,
        nullif(max_by(coalesce(high, -1), case when months <= 24 then months end), -1) as high_24,
        max_by(survival, case when months <= 36 then months end) as survival_36,
        nullif(max_by(coalesce(low, -1), case when months <= 36 then months end), -1) as low_36,
        nullif(max_by(coalesce(high, -1), case when months <= 36 then months end), -1) as high_36,
        min(case when survival <= 0.5 then months end) as median_months,
        min(case when survival = 0 or low <= 0.5 then months end) as median_low,
        min(case when high <= 0.5 then months end) as median_high
    from curves
    group by organization_id, cohort_year, is_fully_observed
)

select
    organization_id,
    coalesce(cast(cohort_year as string), 'all') as cohort,
    cohort_year,
    is_fully_observed,
    cast(joiners as integer) as joiners,
    cast(exits as integer) as exits,
    cast(longest as integer) as longest_calendar_months,
    case when longest >= 12 or survival_at_end = 0 then coalesce(survival_12, 1) end as survival_12_months,
    case when longest >= 12 or survival_at_end = 0 then low_12 end as survival_12_months_low,
    case when longest >= 12 or survival_at_end = 0 then high_12 end as survival_12_months_high,
    case when longest >= 24 or survival_at_end = 0 then coalesce(survival_24, 1) end as survival_24_months,
    case when longest >= 24 or survival_at_end = 0 then low_24 end as survival_24_months_low,
    case when longest >= 24 or survival_at_end = 0 then high_24 end as survival_24_months_high,
    case when longest >= 36 or survival_at_end = 0 then coalesce(survival_36, 1) end as survival_36_months,
    case when longest >= 36 or survival_at_end = 0 then low_36 end as survival_36_months_low,
    case when longest >= 36 or survival_at_end = 0 then high_36 end as survival_36_months_high,
    cast(median_months as integer) as median_calendar_months,
    cast(median_low as integer) as median_calendar_months_low,
    cast(median_high as integer) as median_calendar_months_high
from summaries
