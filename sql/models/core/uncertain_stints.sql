-- grain: One row per open stint of a main job whose person joined another employer after everything that was seen here.
-- key: profile_id, organization_id, stint_number
-- purpose: The people who may no longer be there: most leavings that are never reported show in a joining elsewhere.
-- incremental_by: profile_id
-- note: A joining is after everything seen here if its first possible day is later than the last possible day of the last event
-- note: here. People hold a side role, a part-time title or a job at an employer that is not an organisation (employer_kind of
-- note: stints) alongside a main job, so these do not count. An event here later than that joining shows that the person held
-- note: both jobs at once: only a joining after that event counts.
-- columns:
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   stint_number: The person's stint at the organisation; see stints.
--   uncertain_from_at: When the person joined elsewhere, UTC: from then on it is uncertain whether they are here.
with

joinings as (
    select
        stints.profile_id,
        stints.organization_id,
        stints.joined_at
    from stints
    where
        stints.is_primary
        and stints.joined_at is not null
        and stints.employer_kind is null
        and not coalesce(
            lower(stints.first_title) like '%part-time%'
            or lower(stints.first_title) like '%part time%'
            or lower(stints.first_title) like '%adjunct%'
            or lower(stints.first_title) like '%teilzeit%'
            or lower(stints.first_title) like '%temps partiel%'
            or lower(stints.first_title) like '%tiempo parcial%'
            or lower(stints.first_title) like '%tempo parcial%'
            or lower(stints.first_title) like '%deeltijd%'
            or lower(stints.first_title) like '%兼职%'
            or lower(stints.first_title) like '%非常勤%',
            false
        )
),

followed as (
    select
        here.profile_id,
        here.organization_id,
        here.stint_number,
        joinings.joined_at
    from stints as here
    inner join joinings
        on joinings.profile_id = here.profile_id
        and joinings.organization_id <> here.organization_id
        and joinings.joined_at > here.last_event_at
    where
        here.is_open
        and here.is_primary
        and utc_date(joinings.joined_at)
        > latest_seen(here.last_event_at, date_precision(here.last_event_at), here.last_detected_at)
)

select
    followed.profile_id,
    followed.organization_id,
    followed.stint_number,
    min(followed.joined_at) as uncertain_from_at
from followed
group by followed.profile_id, followed.organization_id, followed.stint_number
