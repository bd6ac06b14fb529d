select organization_id, week_start_on, joiners, leavers, net
from organization_weekly
where net <> joiners - leavers
