-- question: How did the headcount of an organisation grow or shrink from year to year?
-- parameter: organization: its id or name
select
    year,
    headcount,
    headcount_min,
    headcount_max,
    joiners,
    leavers,
    transfers_net,
    -- Growth excludes transfers, and is null unless all months of the year have rates in organization_headcount_monthly.
    round(case when has_rates then least(net / fewest, net / most) end, 3) as growth_min,
    round(case when has_rates then greatest(net / fewest, net / most) end, 3) as growth_max
from (
    select
        year(month_start_on) as year,
        max_by(headcount, month_start_on) as headcount,
        max_by(headcount_min, month_start_on) as headcount_min,
        max_by(headcount_max, month_start_on) as headcount_max,
        sum(joiners)::int as joiners,
        sum(leavers)::int as leavers,
        sum(transfers_in - transfers_out)::int as transfers_net,
        sum(joiners - leavers)::int as net,
        nullif(avg(mean_headcount_min), 0) as fewest,
        nullif(avg(mean_headcount_max), 0) as most,
        bool_and(hiring_rate_min is not null or mean_headcount_max = 0) as has_rates
    from organization_headcount_monthly
    where organization_id = getvariable('organization')
    group by year
)
order by year desc
