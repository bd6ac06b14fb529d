-- question: How did the headcount of an organisation change from month to month, and how many joined and left?
-- parameter: organization: its id or name
select
    month_start_on,
    headcount,
    headcount_min,
    headcount_max,
    joiners,
    leavers,
    transfers_in,
    transfers_out
from organization_headcount_monthly
where organization_id = getvariable('organization')
order by month_start_on desc
