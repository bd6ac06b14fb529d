select joined_event_key, count(*) as moves
from moves
group by joined_event_key
having count(*) > 1
