-- grain: One row per leaving of a main job, transfers left out, whose level and function are known: one vacancy.
-- key: left_event_key
-- tier: detail
-- kind: view
-- purpose: How long a place stays empty: who left, and who was hired for the same function and level within 12 months.
-- note: filled_vacancies decides which joining fills which place: the nearest, first of the same role. Only joinings count: a
-- note: promotion inside the organisation also fills a place here, but opens another one (executive_changes counts them). Only
-- note: observed organisations have rows: data from filtered requests alone shows no vacancies.
-- note: Many vacancies are never filled, or by a joining that was not seen. So speed and share are two questions:
-- note: backfill_speed answers both. For curves of your own use days_observed and is_censored: the mean of the filled ones
-- note: alone leaves out those that are open.
-- partition: year of left_at
-- columns:
--   left_event_key: event_key of the leaving; unique.
--   organization_id: The service's stable id of the organisation.
--   function: Field of work of the title that was left; never unknown.
--   level: Level of the title that was left; never unknown.
--   profile_id: The person who left.
--   person_full_name: Full name of the person who left, as written.
--   person_network_url: The newest known address of the person's public page, as sent; null when none is known.
--   organization_name: The organisation's name as written.
--   title: The title that was left as written.
--   left_at: When the person left, UTC.
--   joined_event_key: event_key of the joining that filled the place; unique; null where none did.
--   joined_profile_id: The person who filled the place; can be the one who had left it.
--   joined_at: When the place was filled, UTC.
--   is_same_core: Whether the new hire has the same role (core of titles) as the person who left; null while the place is vacant.
--   days_to_backfill: Calendar days from leaving to joining as dated, 0 to 365; null while the place is vacant.
--   days_to_backfill_min: The fewest days that the precision of both dates allows.
--   days_to_backfill_max: The most days that the precision of both dates allows.
--   is_open: Whether no joining was seen to fill the place.
--   is_expired: Whether the vacancy stayed open for 365 days before cutoff_on of organizations: it can no longer be filled.
--   is_censored: Whether the end of the wait was not seen before cutoff_on of organizations: the place was open then, or expired.
--   days_observed: Days from leaving to joining, or, where is_censored, to cutoff_on of organizations, 365 at most; 0 or more: the duration for a survival curve.
with

vacancies as (
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
        filled.is_same_core,
        filled.days_to_backfill,
        filled.days_to_backfill_min,
        filled.days_to_backfill_max,
        filled.left_event_key is null as is_open,
        -- A joining at the cutoff or later does not count yet.
        filled.left_event_key is null
        or utc_date(filled.joined_at) >= observed.cutoff_on
        or utc_date(leavers.left_at) >= observed.cutoff_on as is_censored,
        greatest(0, days_between_dates(utc_date(leavers.left_at), observed.cutoff_on)) as days_to_cutoff
    from leavers
    inner join organization_observation as observed on observed.organization_id = leavers.organization_id
    -- The join also names the organisation, so that a query for one skips the rest of both tables.
    left join filled_vacancies as filled
        on filled.organization_id = leavers.organization_id
        and filled.left_event_key = leavers.event_key
    where
        leavers.is_primary and not leavers.is_transfer and leavers.level <> 'unknown' and leavers.function <> 'unknown'
        and observed.cutoff_on is not null
)

select
    vacancies.left_event_key,
    vacancies.organization_id,
    vacancies.function,
    vacancies.level,
    vacancies.profile_id,
    vacancies.person_full_name,
    vacancies.person_network_url,
    vacancies.organization_name,
    vacancies.title,
    vacancies.left_at,
    vacancies.joined_event_key,
    vacancies.joined_profile_id,
    vacancies.joined_at,
    vacancies.is_same_core,
    vacancies.days_to_backfill,
    vacancies.days_to_backfill_min,
    vacancies.days_to_backfill_max,
    vacancies.is_open,
    vacancies.is_open and vacancies.days_to_cutoff >= 365 as is_expired,
    vacancies.is_censored,
    cast(
        case when vacancies.is_censored then least(365, vacancies.days_to_cutoff) else vacancies.days_to_backfill end as integer
    ) as days_observed
from vacancies
