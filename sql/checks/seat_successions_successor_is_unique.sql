select organization_id, seat, was_interim, successor_event_key as filled_by, count(*) as seats
from seat_successions
group by organization_id, seat, was_interim, successor_event_key
having count(*) > 1
