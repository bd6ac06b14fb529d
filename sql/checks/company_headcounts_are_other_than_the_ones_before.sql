select company, received_at, employees
from (
    select company, received_at, employees, lag(employees) over (partition by company order by received_at) as before
    from company_headcounts
) as counted
where employees = before or employees < 0
