-- What executive_changes sets beside the changes at the top: each leaving there is one of both, where its function is known.
-- incremental_by: organization_id
with

entries as (
    select organization_id, 1 as departures, case when function <> 'unknown' then 1 else 0 end as places
    from leavers
    where is_primary and level in ('director', 'vp', 'cxo')
    union all
    select organization_id, -1 as departures, 0 as places
    from executive_departures
    union all
    select organization_id, 0 as departures, -1 as places
    from executive_vacancies
)

select organization_id, sum(departures) as departures, sum(places) as places
from entries
group by organization_id
having sum(departures) <> 0 or sum(places) <> 0
