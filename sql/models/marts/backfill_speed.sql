-- grain: One row per organisation and function, and one for all functions.
-- key: organization_id, function
-- tier: detail
-- kind: view
-- purpose: How fast vacancies are filled from outside, and what share of them is filled.
-- note: The method is Kaplan-Meier over time_to_backfill: an open vacancy counts as long as it was followed. Two questions have
-- note: separate answers. filled_share says how many; it falls with every joining that goes unseen. days_median and the
-- note: quartiles say how fast, for vacancies filled within 12 months; they hardly change if every fourth joining goes unseen,
-- note: so organisations can be compared by them. days_to_half_filled mixes both: compare it only between organisations with
-- note: the same share of joinings seen.
-- note: The vacancies are those from observed_from_on to cutoff_on (see organizations). Where an organisation has many leavings
-- note: a month, nearly every joining has one shortly before it: days_median is then short, whatever the reason for each hire.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   function: Field of work of the titles that were left; all for every field.
--   vacancies: Vacancies of main jobs whose level and function are known.
--   filled: Vacancies that were filled, each within 12 months and before the cutoff.
--   expired: Vacancies that stayed open for 365 days.
--   longest_days: The most days that a vacancy was followed, at most 365; filled_share and the quartiles cover this many days.
--   filled_share: Share of the vacancies that is filled within longest_days, 0 to 1, as estimated from all.
--   filled_share_90_days: Share of the vacancies that is filled within 90 days; null where none was followed that long.
--   filled_share_180_days: Share of the vacancies that is filled within 180 days; null where none was followed that long.
--   days_p25: 25 of 100 filled vacancies were filled within this many days; null where none was filled.
--   days_median: Half of the filled vacancies were filled within this many days.
--   days_p75: 75 of 100 filled vacancies were filled within this many days.
--   days_to_half_filled: Days after which half of all vacancies are filled; null where fewer than half ever are.
with

vacancies as (
    select
        backfills.organization_id,
        backfills.function,
        backfills.days_observed as days,
        case when backfills.is_censored then 0 else 1 end as is_filled,
        case when backfills.is_expired then 1 else 0 end as is_expired
    from time_to_backfill as backfills
    inner join organization_observation as observed on observed.organization_id = backfills.organization_id
    where
        utc_date(backfills.left_at) < observed.cutoff_on
        and (observed.observed_from_on is null or utc_date(backfills.left_at) >= observed.observed_from_on)
),

counts as (
    select
        organization_id,
        function,
        days,
        sum(is_filled) as filled,
        sum(is_expired) as expired,
        count(*) as vacancies
    from vacancies
    group by organization_id, function, days
),

pooled as (
    select organization_id, function, days, filled, expired, vacancies
    from counts
    union all
    select organization_id, 'all' as function, days, sum(filled) as filled, sum(expired) as expired, sum(vacancies) as vacancies
    from counts
    group by organization_id, days
),

exposed as (
    select
        organization_id,
        function,
        days,
        filled,
        expired,
        vacancies,
        sum(vacancies) over (
            partition by organization_id, function order by days rows between current row and unbounded following
        ) as at_risk
    from pooled
),

-- A sum of decimals: a sum of floating-point numbers would depend on the order of the rows.
waiting as (
    select
        organization_id,
        function,
        days,
        filled,
        expired,
        vacancies,
        at_risk,
        sum(cast(case when filled < at_risk then ln(1 - cast(filled as double) / at_risk) else 0 end as decimal(18, 14))) over (
            partition by organization_id, function order by days rows between unbounded preceding and current row
        ) as log_open
    from exposed
),

curves as (
    select
        organization_id,
        function,
        days,
        filled,
        expired,
        vacancies,
        case when filled = at_risk then 1 else round(1 - exp(cast(log_open as double)), 9) end as share
    from waiting
),

ended as (
    select
        organization_id,
        function,
        days,
        filled,
        expired,
        vacancies,
        share,
        max(share) over (partition by organization_id, function) as share_at_end
    from curves
)

select
    organization_id,
    function,
    cast(sum(vacancies) as integer) as vacancies,
    cast(sum(filled) as integer) as filled,
    cast(sum(expired) as integer) as expired,
    max(days) as longest_days,
    max(share) as filled_share,
    case when max(days) >= 90 or max(share) = 1 then coalesce(max(case when days <= 90 then share end), 0) end
        as filled_share_90_days,
    case when max(days) >= 180 or max(share) = 1 then coalesce(max(case when days <= 180 then share end), 0) end
        as filled_share_180_days,
    min(case when share_at_end > 0 and share >= 0.25 * share_at_end - 0.00000001 then days end) as days_p25,
    min(case when share_at_end > 0 and share >= 0.5 * share_at_end - 0.00000001 then days end) as days_median,
    min(case when share_at_end > 0 and share >= 0.75 * share_at_end - 0.00000001 then days end) as days_p75,
    min(case when share >= 0.5 then days end) as days_to_half_filled
from ended
group by organization_id, function
