-- The name of each organisation and the number of its events in the warehouse.
select organization_id, name, cast(events as double) as events
from ops.organizations
