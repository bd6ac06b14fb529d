select profile_id, organization_id, stint_number, joined_at, left_at
from stints
where joined_at > left_at
