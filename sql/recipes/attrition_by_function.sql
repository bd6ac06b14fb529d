-- question: In which fields of work does an organisation lose people, and in which more than the year before?
-- parameter: organization: its id or name
-- parameter: level = all: a level, such as director
-- empty: attrition: rates begin after the first observed year of an organisation, while its headcount is 10 or more (see observed_from_on of organizations, and organization_headcounts)
select
    function,
    month_start_on as to_month,
    leavers,
    round(headcount) as headcount,
    round(attrition_rate, 3) as rate,
    round(attrition_min, 3) as rate_min,
    round(attrition_max, 3) as rate_max,
    round(attrition_rate_year_before, 3) as year_before,
    grade,
    doubts
from attrition
where
    organization_id = getvariable('organization')
    and level = getvariable('level')
    and month_start_on = (
        select max(last.month_start_on)
        from attrition as last
        where last.organization_id = getvariable('organization')
    )
order by function <> 'all', leavers desc, function
