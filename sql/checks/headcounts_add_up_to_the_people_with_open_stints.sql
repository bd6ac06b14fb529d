-- The sum of all changes of a headcount is the number of people who are certainly there: those with an open stint of a main job
-- who have not joined elsewhere since.
with

changes as (
    select organization_id, 1 as people from joiners where is_primary
    union all
    select organization_id, -1 as people from leavers where is_primary
    union all
    select organization_id, people from headcount_steps
    union all
    select organization_id, -1 as people from stints where is_primary and is_open
    union all
    select organization_id, 1 as people from uncertain_stints
)

select organization_id, sum(people) as too_many
from changes
group by organization_id
having sum(people) <> 0
