-- One row per person who joined, left or was promoted, side roles and transfers included. The other queries of a report count and
-- list the rows with `is_counted`, from a temporary view of this name.
select
    'joined' as change,
    event_key,
    organization_id,
    organization_name,
    person_full_name,
    person_network_url,
    level,
    level in ('director', 'vp', 'cxo') as is_executive,
    is_primary and not is_transfer as is_counted,
    is_primary,
    came_from_title as title_before,
    title as title_after,
    came_from_organization_name as from_organization,
    organization_name as to_organization,
    joined_on as changed_on,
    precision,
    was_announced,
    known_at
from joiners
union all
select
    'left',
    event_key,
    organization_id,
    organization_name,
    person_full_name,
    person_network_url,
    level,
    level in ('director', 'vp', 'cxo'),
    is_primary and not is_transfer,
    is_primary,
    title,
    went_to_title,
    organization_name,
    went_to_organization_name,
    left_on,
    precision,
    was_announced,
    known_at
from leavers
union all
select
    'rose',
    event_key,
    organization_id,
    organization_name,
    person_full_name,
    person_network_url,
    level,
    level in ('director', 'vp', 'cxo'),
    is_primary,
    is_primary,
    previous_title,
    title,
    organization_name,
    organization_name,
    promoted_on,
    precision,
    was_announced,
    known_at
from promotions
