-- Lists what the engine could not read of $1 pages: the positions of events, or null for a page without events.

select nth, position
from page_events
where not is_read
union all
select page.nth, null
from (select cast(unnest(range($1)) as integer) as nth) as page
where page.nth not in (select event.nth from page_events as event)
order by nth, position;
