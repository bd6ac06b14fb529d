-- reconciles: departures, places by organization_id
-- What executive_changes sets beside the changes at the top: each leaving there is one of both, where its function is known.
select organization_id, 1 as departures, case when function <> 'unknown' then 1 else 0 end as places
from leavers
where is_primary and level in ('director', 'vp', 'cxo')
union all
select organization_id, -1 as departures, 0 as places
from executive_departures
union all
select organization_id, 0 as departures, -1 as places
from executive_vacancies
