-- The changes that the merge is about to make: new events, known events whose attributes a newer sighting changes, and the known
-- ones in all.

select
    cast(count(*) filter (where is_new) + (select count(*) from single_sightings) as integer) as inserted,
    cast(count(*) filter (where is_changed) as integer) as updated,
    cast(count(*) filter (where not is_new) as integer) as known
from repeated_events;
