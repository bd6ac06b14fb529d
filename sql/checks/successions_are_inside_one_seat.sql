select successions.ended_event_key as event_key, successions.successor_event_key as filled_by
from seat_successions as successions
left join executive_seats as successors
    on successors.began_event_key = successions.successor_event_key
    and successors.organization_id = successions.organization_id
    and successors.seat = successions.seat
    and successors.is_interim = successions.successor_is_interim
left join executive_seats as gone
    on gone.ended_event_key = successions.ended_event_key
    and gone.organization_id = successions.organization_id
    and gone.seat = successions.seat
    and gone.is_interim = successions.was_interim
where successors.event_key is null or gone.event_key is null
