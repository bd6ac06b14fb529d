-- An example check for you to change. Like a singular test in dbt, it selects the rows that must not exist. If it returns
-- any, the build fails with exit code 6 and nothing is published; `ops.checks` has the first rows.
select organization_id, month_start_on, joiners, managers
from joiners_by_month
where joiners < 1 or managers > joiners
