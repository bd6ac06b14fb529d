-- What the merge is about to do: events that are new, and known events whose attributes a newer sighting changes.

select
    cast(count(*) filter (where is_new) as integer) as inserted,
    cast(count(*) filter (where is_changed) as integer) as updated
from staged_events;
