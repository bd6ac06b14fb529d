select profile_id, organization_id, stint_number, count(*) as copies
from stints
group by profile_id, organization_id, stint_number
having count(*) > 1 or profile_id is null or organization_id is null or stint_number is null
