-- question: What share of its people did each organisation lose in the last twelve months, and was it more than the year before?
-- parameter: function = all: a field of work, such as engineering
-- parameter: level = all: a level, such as director
-- empty: attrition: rates begin after the first observed year of an organisation, while its headcount is 10 or more (see observed_from_on of organizations, and organization_headcounts)
with

newest as (
    select
        rates.*,
        leavers - headcount * coalesce(attrition_rate_year_before, sum(leavers) over () / nullif(sum(headcount) over (), 0)) as more
    from attrition as rates
    where
        function = getvariable('function')
        and level = getvariable('level')
        and month_start_on = (
            select max(last.month_start_on)
            from attrition as last
            where last.organization_id = rates.organization_id
        )
)

select
    organizations.name as organization,
    rates.month_start_on as to_month,
    rates.leavers,
    round(rates.more) as more_than_expected,
    round(rates.headcount) as headcount,
    round(rates.attrition_rate, 3) as rate,
    round(rates.attrition_min, 3) as rate_min,
    round(rates.attrition_max, 3) as rate_max,
    round(rates.attrition_rate_year_before, 3) as year_before,
    rates.grade,
    rates.doubts
from newest as rates
inner join organizations on organizations.organization_id = rates.organization_id
order by rates.more desc, rates.organization_id
