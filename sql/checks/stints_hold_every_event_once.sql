select stints.in_stints, events.in_events
from (select coalesce(sum(events), 0) as in_stints from stints) as stints
cross join (select count(*) as in_events from stint_events where not is_second) as events
where stints.in_stints <> events.in_events
