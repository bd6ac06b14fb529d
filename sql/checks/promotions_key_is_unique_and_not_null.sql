select organization_id, promoted_at, profile_id, title, count(*) as copies
from promotions
group by organization_id, promoted_at, profile_id, title
having count(*) > 1 or organization_id is null or promoted_at is null or profile_id is null or title is null
