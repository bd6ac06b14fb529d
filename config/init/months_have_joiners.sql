-- An example of a check of your own, for you to change. As a singular test of dbt, it is one select of the rows that must
-- not be. Where it returns one, the build fails with exit code 6, and nothing is published; `ops.checks` has the first rows.
select organization_id, month_start_on, joiners, managers
from joiners_by_month
where joiners < 1 or managers > joiners
