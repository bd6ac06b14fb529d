-- grain: One row per company page and answer that shows another headcount than the one before.
-- key: company, received_at
-- endpoint: company-profile
-- purpose: How many people a company says it has, over time: what the headcounts of organisations are held against.
-- columns:
--   company: The page: the last part of its address, in lower case.
--   received_at: When it was received, UTC.
--   employees: How many people it has by its page.
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
