select left_event_key, joined_event_key, gap_days
from moves
where gap_days not between -31 and 180
