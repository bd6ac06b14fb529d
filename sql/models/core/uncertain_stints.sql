-- grain: One row per open stint of a main job whose person joined another employer after all that was seen here.
-- key: profile_id, organization_id, stint_number
-- purpose: Of whom it is not sure that they are still there: most leavings that are not seen are seen by the joining elsewhere.
-- incremental_by: profile_id
-- note: A joining after all that was seen here: its first day is later than the last on which the last event here can have been.
-- note: A side role, a title that says part-time and an employer that is none (employer_kind of stints) are had beside a job.
-- note: What is seen here later than that joining shows that both jobs were had at once: only a joining after that counts.
-- columns:
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   stint_number: The person's stint at the organisation; see stints.
--   uncertain_from_at: When the person joined elsewhere, UTC: from then on it is not sure that they are here.
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
