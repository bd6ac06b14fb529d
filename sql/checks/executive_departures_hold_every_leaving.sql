-- executive_departures has one row for each departure in executive_events.
with

entries as (
    select organization_id, 1 as departures
    from executive_events
    where change = 'departed'
    union all
    select organization_id, -1 as departures
    from executive_departures
)

select organization_id, sum(departures) as departures
from entries
group by organization_id
having sum(departures) <> 0
