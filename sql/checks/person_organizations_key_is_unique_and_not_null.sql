select profile_id, organization_id, count(*) as copies
from person_organizations
group by profile_id, organization_id
having count(*) > 1 or profile_id is null or organization_id is null
