-- grain: One row per organisation and month in which its page was received and showed a headcount.
-- key: organization_id, month_start_on
-- purpose: The headcounts that organisations report, for comparison with the counted ones.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   month_start_on: The first day of the month, UTC.
--   reported_headcount: People according to the organisation's page, as last received in the month.
with

readings as (
    select
        company_organizations.organization_id,
        month_start(company_answers.received_at) as month_start_on,
        company_answers.employees,
        row_number() over (
            partition by company_organizations.organization_id, month_start(company_answers.received_at)
            order by company_answers.answer desc
        ) as again
    from company_answers
    inner join company_organizations on company_organizations.company = company_answers.company
    where company_answers.employees is not null
)

select organization_id, month_start_on, employees as reported_headcount
from readings
where again = 1
