select event_key, joined_at, left_at, tenure_days
from leavers
where tenure_days < 0
