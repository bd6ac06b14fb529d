-- question: In which fields of work does an organisation hire, and how did that change from year to year?
-- parameter: organization: its id or name
select
    year,
    function,
    count(*) as joiners,
    round(count(*) / sum(count(*)) over (partition by year), 3) as share
from (
    select year(month_start_on) as year, function
    from joiners
    where organization_id = getvariable('organization') and is_primary and not is_transfer
)
group by year, function
order by year desc, joiners desc, function
