-- Counts what the merge is about to do: new events, known events that a newer sighting changes, and all known events.

select
    cast(count(*) filter (where is_new) + (select count(*) from single_sightings) as integer) as inserted,
    cast(count(*) filter (where is_changed) as integer) as updated,
    cast(count(*) filter (where not is_new) as integer) as known
from repeated_events;
