-- question: How many of an organisation's joiners of each month were known on a given day, and how many are known now?
-- parameter: organization: its id or name
-- parameter: day: a day, such as 2026-09-30
with

known_then as (
    select month_start_on, count(*) as joiners
    from joiners_as_known_on(cast(getvariable('day') as date), organization := getvariable('organization'))
    where is_primary and not is_transfer
    group by month_start_on
)

select
    now.month_start_on,
    any_value(coalesce(known_then.joiners, 0)) as known_then,
    count(*) as known_now
from joiners as now
left join known_then on known_then.month_start_on = now.month_start_on
where
    now.organization_id = getvariable('organization')
    and now.is_primary
    and not now.is_transfer
    and now.month_start_on <= cast(getvariable('day') as date)
group by now.month_start_on
order by now.month_start_on desc
