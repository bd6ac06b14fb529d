-- Shares lie between 0 and 1, grow with the time that was followed (those who stay become fewer), and quartiles are in order.
-- incremental_by: organization_id
with

summaries as (
    select
        organization_id,
        promoted_share_12_months as early,
        promoted_share_24_months as late,
        calendar_months_p25 as p25,
        calendar_months_p75 as p75
    from promotion_waits
    union all
    select organization_id, filled_share_90_days as early, filled_share_180_days as late, days_p25 as p25, days_p75 as p75
    from backfill_speed
    union all
    select
        organization_id,
        1 - survival_12_months as early,
        1 - survival_24_months as late,
        median_calendar_months_low as p25,
        median_calendar_months_high as p75
    from tenure_survival
)

select organization_id, early, late, p25, p75
from summaries
where early < 0 or late > 1 or early > late or p25 > p75
