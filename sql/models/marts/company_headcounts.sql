-- grain: One row per company page and answer that shows a headcount other than the previous one.
-- key: company, received_at
-- endpoint: company-profile
-- purpose: The headcounts that companies report over time, for comparison with the counted headcounts of organisations.
-- columns:
--   company: The page: the last part of its address, in lower case.
--   received_at: When the answer was received, UTC.
--   employees: The headcount on the page.
--   company_size: Range of the headcount, as sent.
with

compared as (
    select company, received_at, employees, company_size, lag(employees) over history as employees_before
    from company_answers
    where employees is not null
    window history as (partition by company order by answer)
)

select company, received_at, employees, company_size
from compared
where employees_before is null or employees_before <> employees
