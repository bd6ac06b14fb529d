-- Lists what the engine could not read of the pages $1 to $2: the positions of events, or null for a page without events.

select nth, position
from jobtide_load.sightings
where nth between $1 and $2 and not is_read
union all
select page.nth, null
from (select cast(unnest(range($1, $2 + 1)) as integer) as nth) as page
where page.nth not in (select sighting.nth from jobtide_load.sightings as sighting where sighting.nth between $1 and $2)
order by nth, position;
