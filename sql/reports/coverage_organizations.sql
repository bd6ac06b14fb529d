-- What the warehouse knows of each organisation: its name and how many events are of it.
select organization_id, name, cast(events as double) as events
from ops.organizations
