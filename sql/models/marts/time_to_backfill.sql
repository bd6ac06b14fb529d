-- grain: One row per leaving of a main job whose level and function are known: one vacancy.
-- key: left_event_key
-- kind: view
-- purpose: How long a place stays empty: who left, and who was hired for the same function and level after that.
-- note: Which joining fills which place stands in filled_vacancies. Joinings only: a promotion inside the organisation fills a
-- note: place here too, but opens another one (executive_changes counts them).
-- note: Use open vacancies too (is_open, days_observed): the mean of the filled ones alone is too short (survivor bias).
-- partition: year of left_at
-- columns:
--   left_event_key: event_key of the leaving; unique.
--   organization_id: The service's stable id of the organisation.
--   function: Field of work of the title that was left; never unknown.
--   level: Level of the title that was left; never unknown.
--   profile_id: The person who left.
--   person_full_name: Full name of the person who left, as written.
--   person_network_url: The person's public page, the newest that is known, as sent; null when none is.
--   organization_name: The organisation's name as written.
--   title: The title that was left as written.
--   left_at: When the person left, UTC.
--   joined_event_key: event_key of the joining that filled the place; null while it is open; unique.
--   joined_profile_id: The person who filled the place; can be the one who had left it.
--   joined_at: When the place was filled, UTC.
--   days_to_backfill: Calendar days from leaving to joining as dated, 0 or more; null while open.
--   days_to_backfill_min: The fewest days that the precision of both dates allows.
--   days_to_backfill_max: The most days that the precision of both dates allows.
--   is_open: Whether nobody was seen to fill the place.
--   days_observed: Days from leaving to joining, or, while open, to observed_until_on; 0 or more: the duration for a survival curve.
--   observed_until_on: First day of the month up to which joinings were looked for; see organization_observation.
select
    leavers.event_key as left_event_key,
    leavers.organization_id,
    leavers.function,
    leavers.level,
    leavers.profile_id,
    leavers.person_full_name,
    leavers.person_network_url,
    leavers.organization_name,
    leavers.title,
    leavers.left_at,
    filled.joined_event_key,
    filled.joined_profile_id,
    filled.joined_at,
    filled.days_to_backfill,
    filled.days_to_backfill_min,
    filled.days_to_backfill_max,
    filled.left_event_key is null as is_open,
    cast(
        coalesce(
            filled.days_to_backfill,
            greatest(0, days_between_dates(utc_date(leavers.left_at), observed.observed_until_on))
        ) as integer
    ) as days_observed,
    observed.observed_until_on
from leavers
inner join organization_observation as observed on observed.organization_id = leavers.organization_id
-- By the organisation, too, so that a query for one reads the rest of neither table.
left join filled_vacancies as filled
    on filled.organization_id = leavers.organization_id
    and filled.left_event_key = leavers.event_key
where leavers.is_primary and leavers.level <> 'unknown' and leavers.function <> 'unknown'
