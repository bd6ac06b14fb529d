-- What the merge is about to do: events that are new, known events whose attributes a newer sighting changes, and known ones
-- in all.

select
    cast(count(*) filter (where is_new) + (select count(*) from single_sightings) as integer) as inserted,
    cast(count(*) filter (where is_changed) as integer) as updated,
    cast(count(*) filter (where not is_new) as integer) as known
from repeated_events;
