-- grain: One row per arrival, departure or promotion of an executive: at the levels director, vp and cxo.
-- key: event_key, change
-- incremental_by: profile_id
-- purpose: The joinings, leavings and promotions that executive_changes adds successors and clusters to.
-- note: Apart from it because these follow from one person's events, and the others from what happened to a place.
-- columns:
--   event_key: event_key of the change in job_change_events; unique.
--   change: arrived (joined at one of the levels), departed (left one) or promoted (rose into one).
--   organization_id: The service's stable id of the organisation.
--   profile_id: The service's stable id of the person.
--   changed_at: When it took effect, UTC. Often known to the month only: then the first of that month.
--   month_start_on: First day of the month of changed_at, UTC.
--   is_month_precise: Whether changed_at is known to the month only.
--   is_future: Whether it was detected before it took effect.
--   person_full_name: The person's full name as written.
--   person_network_url: The person's public page, the newest that is known, as sent; null when none is.
--   organization_name: The organisation's name as written.
--   title: The title arrived as, departed from or promoted to, as written.
--   level: director, vp or cxo.
--   function: Field of work of title; other where it names none, unknown where nothing is understood.
--   previous_title: The title before, of a promotion.
--   previous_level: Level of previous_title.
--   other_organization_id: Where an arrival came from or a departure went to, as far as linked (see moves); null otherwise.
--   other_organization_name: Its name as written.
--   detected_at: When the service saw the change, UTC.
--   first_seen_at: When the event was first received, UTC.
select
    event_key,
    'arrived' as change,
    organization_id,
    profile_id,
    joined_at as changed_at,
    month_start_on,
    is_month_precise,
    is_future,
    person_full_name,
    person_network_url,
    organization_name,
    title,
    level,
    function,
    cast(null as string) as previous_title,
    cast(null as string) as previous_level,
    came_from_organization_id as other_organization_id,
    came_from_organization_name as other_organization_name,
    detected_at,
    first_seen_at
from joiners
where is_primary and level in ('director', 'vp', 'cxo')
union all
select
    event_key,
    'departed' as change,
    organization_id,
    profile_id,
    left_at as changed_at,
    month_start_on,
    is_month_precise,
    is_future,
    person_full_name,
    person_network_url,
    organization_name,
    title,
    level,
    function,
    cast(null as string) as previous_title,
    cast(null as string) as previous_level,
    went_to_organization_id as other_organization_id,
    went_to_organization_name as other_organization_name,
    detected_at,
    first_seen_at
from leavers
where is_primary and level in ('director', 'vp', 'cxo')
union all
select
    event_key,
    'promoted' as change,
    organization_id,
    profile_id,
    promoted_at as changed_at,
    month_start_on,
    is_month_precise,
    is_future,
    person_full_name,
    person_network_url,
    organization_name,
    title,
    level,
    function,
    previous_title,
    previous_level,
    cast(null as string) as other_organization_id,
    cast(null as string) as other_organization_name,
    detected_at,
    first_seen_at
from promotions
where is_primary and level in ('director', 'vp', 'cxo') and level <> previous_level
