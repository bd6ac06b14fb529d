select left_event_key, count(*) as copies
from moves
group by left_event_key
having count(*) > 1 or left_event_key is null
