-- question: Which share of its people did each organisation lose in the newest twelve months, and was it more than the year before?
-- parameter: function = all: a field of work, such as engineering
-- parameter: level = all: a level, such as director
select
    organizations.name as organization,
    rates.month_start_on as to_month,
    rates.leavers,
    round(rates.headcount) as headcount,
    round(rates.attrition_rate, 3) as rate,
    round(rates.attrition_min, 3) as rate_min,
    round(rates.attrition_max, 3) as rate_max,
    round(rates.attrition_rate_year_before, 3) as year_before,
    rates.grade,
    rates.doubts
from attrition as rates
inner join organizations on organizations.organization_id = rates.organization_id
where
    rates.function = getvariable('function')
    and rates.level = getvariable('level')
    and rates.month_start_on = (
        select max(newest.month_start_on)
        from attrition as newest
        where newest.organization_id = rates.organization_id
    )
order by rates.leavers - rates.headcount * coalesce(rates.attrition_rate_year_before, rates.attrition_rate) desc, rates.organization_id
limit 50
