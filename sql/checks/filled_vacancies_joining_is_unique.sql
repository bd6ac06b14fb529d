select organization_id, joined_event_key as filled_by, count(*) as places
from filled_vacancies
group by organization_id, joined_event_key
having count(*) > 1
