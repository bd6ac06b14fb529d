-- question: How long do people stay at an organisation, by the year in which they joined?
-- parameter: organization: its id or name
select
    cohort,
    is_fully_observed,
    joiners,
    exits,
    round(survival_12_months, 3) as stay_12_months,
    round(survival_24_months, 3) as stay_24_months,
    round(survival_36_months, 3) as stay_36_months,
    median_calendar_months as median_months,
    median_calendar_months_low as median_low,
    median_calendar_months_high as median_high
from tenure_survival
where organization_id = getvariable('organization')
order by cohort desc
