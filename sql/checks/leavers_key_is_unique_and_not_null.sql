select organization_id, left_at, profile_id, count(*) as copies
from leavers
group by organization_id, left_at, profile_id
having count(*) > 1 or organization_id is null or left_at is null or profile_id is null
