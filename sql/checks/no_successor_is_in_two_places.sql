-- scope: organization_id
select organization_id, successor_event_key as filled_by, count(*) as places
from executive_vacancies
where successor_event_key is not null
group by organization_id, successor_event_key
having count(*) > 1
union all
select organization_id, joined_event_key as filled_by, count(*) as places
from filled_vacancies
group by organization_id, joined_event_key
having count(*) > 1
