-- grain: One row per organisation and level at which anybody was seen to begin.
-- key: organization_id, from_level
-- tier: detail
-- kind: view
-- purpose: How long people are at a level before they go up: those who still wait count as long as they were seen to wait.
-- note: Kaplan-Meier. The wait begins with the joining, or the change of title, that led to the level, and ends with the first title of
-- note: a higher one. Until cutoff_on of data_cutoffs, until they left, or until they went to a level that is not higher, people
-- note: wait (censored): the figures are those of people who stay. Waits that began before observed_from_on of organizations
-- note: are left out, and so are side roles and levels whose beginning was not seen.
-- note: promotion_velocity has those who were promoted alone, by step, also of steps inside a level.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   from_level: Level that people came to: intern, entry, mid, senior, lead, manager, director, vp or cxo.
--   waits: How many times somebody came to the level.
--   promoted: How many of them were seen to go up from it.
--   longest_calendar_months: The longest wait that was followed: later than that, nothing is known.
--   promoted_share_12_months: Share that is promoted within 12 calendar months, 0 to 1; null where no wait was followed so long.
--   promoted_share_24_months: Share that is promoted within 24 calendar months.
--   promoted_share_36_months: Share that is promoted within 36 calendar months.
--   calendar_months_p25: 25 of 100 are promoted within so many calendar months; null where fewer are as far as is known.
--   calendar_months_median: Half are promoted within so many.
--   calendar_months_p75: 75 of 100 are promoted within so many.
with

exposed as (
    select
        organization_id,
        from_level,
        wait_calendar_months as months,
        promoted,
        censored,
        sum(promoted + censored) over (
            partition by organization_id, from_level
            order by wait_calendar_months
            rows between current row and unbounded following
        ) as at_risk
    from promotion_wait_counts
),

-- A sum of decimals: one of floating-point numbers would depend on the order of the rows.
waiting as (
    select
        organization_id,
        from_level,
        months,
        promoted,
        censored,
        at_risk,
        sum(cast(case when promoted < at_risk then ln(1 - cast(promoted as double) / at_risk) else 0 end as decimal(18, 14))) over (
            partition by organization_id, from_level order by months rows between unbounded preceding and current row
        ) as log_waiting
    from exposed
),

curves as (
    select
        organization_id,
        from_level,
        months,
        promoted,
        censored,
        case when promoted = at_risk then 1 else round(1 - exp(cast(log_waiting as double)), 9) end as share
    from waiting
)

select
    organization_id,
    from_level,
    cast(sum(promoted + censored) as integer) as waits,
    cast(sum(promoted) as integer) as promoted,
    max(months) as longest_calendar_months,
    case when max(months) >= 12 or max(share) = 1 then coalesce(max(case when months <= 12 then share end), 0) end
        as promoted_share_12_months,
    case when max(months) >= 24 or max(share) = 1 then coalesce(max(case when months <= 24 then share end), 0) end
        as promoted_share_24_months,
    case when max(months) >= 36 or max(share) = 1 then coalesce(max(case when months <= 36 then share end), 0) end
        as promoted_share_36_months,
    min(case when share >= 0.25 then months end) as calendar_months_p25,
    min(case when share >= 0.5 then months end) as calendar_months_median,
    min(case when share >= 0.75 then months end) as calendar_months_p75
from curves
group by organization_id, from_level
