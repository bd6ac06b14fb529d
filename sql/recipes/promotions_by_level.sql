-- question: How many people did an organisation promote from each level, and after how long?
-- parameter: organization: its id or name
select
    from_level,
    to_level,
    promotions,
    months_of_promoted_median,
    promoted_share_24_months,
    calendar_months_median as calendar_months_until_half_rise
from promotion_waits
where organization_id = getvariable('organization')
order by sum(promotions) over (partition by from_level) desc, from_level, to_level <> 'all', promotions desc, to_level
