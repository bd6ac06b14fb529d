-- question: In which months of the year does an organisation hire and lose people?
-- parameter: organization: its id or name
select
    month(month_start_on) as month,
    sum(joiners)::int as joiners,
    sum(leavers)::int as leavers,
    round(sum(joiners) / sum(sum(joiners)) over (), 3) as share_of_joiners,
    round(sum(leavers) / sum(sum(leavers)) over (), 3) as share_of_leavers
from organization_monthly
where organization_id = getvariable('organization')
group by month
order by month
