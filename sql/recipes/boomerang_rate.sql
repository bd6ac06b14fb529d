-- question: What share of an organisation's joiners had worked there before, year by year?
-- parameter: organization: its id or name
select
    year(month_start_on) as year,
    count(*) as joiners,
    count(*) filter (where is_boomerang) as boomerangs,
    round(count(*) filter (where is_boomerang) / count(*), 3) as share,
    median(months_away) as median_months_away
from joiners
where organization_id = getvariable('organization') and is_primary and not is_transfer
group by year
order by year
