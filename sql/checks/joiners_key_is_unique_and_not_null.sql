select organization_id, joined_at, profile_id, count(*) as copies
from joiners
group by organization_id, joined_at, profile_id
having count(*) > 1 or organization_id is null or joined_at is null or profile_id is null
