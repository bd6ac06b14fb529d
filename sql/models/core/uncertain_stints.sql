-- grain: One row per open stint of a main job whose person joined another employer after everything that was seen here.
-- key: profile_id, organization_id, stint_number
-- purpose: The people who may no longer be there: most leavings that are never reported show in a joining elsewhere.
-- incremental_by: profile_id
-- note: A joining is after everything seen here if its first possible day is later than the last possible day of the last event
-- note: here. People hold a side role, a title by the hour, as a guest or on loan, or a job at an employer that is not an
-- note: organisation (employer_kind of stints) alongside a main job, so these do not count until a change of title makes
-- note: one a main job, as when a secondment becomes permanent. An event here later than that
-- note: joining shows that the person held both jobs at once: only a joining after that event counts. To join again an employer
-- note: who was there before is such a joining if nothing else was seen there since the last event here.
-- columns:
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   stint_number: The person's stint at the organisation; see stints.
--   uncertain_from_at: When the person joined elsewhere, UTC: from then on it is uncertain whether they are here.
with

-- Each joining of a person who was already there, and the last event before it.
role_starts as (
    select
        profile_id,
        organization_id,
        stint_number,
        part,
        ladder,
        title,
        changed_at,
        lag(changed_at) over (
            partition by profile_id, organization_id, stint_number order by changed_at, detected_at, event_key
        ) as previous_at
    from ambiguous_events
),

joinings as (
    select stints.profile_id, stints.organization_id, stints.joined_at, true as is_arrival, stints.joined_at as previous_at
    from stints
    left join titles on titles.ladder = stints.ladder and titles.title = stints.first_title
    where
        stints.is_primary
        and stints.joined_at is not null
        and stints.employer_kind is null
        and not coalesce(titles.is_held_beside, false)
    union all
    select
        role_starts.profile_id,
        role_starts.organization_id,
        role_starts.changed_at as joined_at,
        false as is_arrival,
        role_starts.previous_at
    from role_starts
    inner join stints
        on stints.profile_id = role_starts.profile_id
        and stints.organization_id = role_starts.organization_id
        and stints.stint_number = role_starts.stint_number
    left join titles on titles.ladder = role_starts.ladder and titles.title = role_starts.title
    where
        role_starts.part = 'role_start'
        and not coalesce(titles.is_held_beside, false)
        and stints.is_primary
        and stints.employer_kind is null
    union all
    select
        changes.profile_id,
        changes.organization_id,
        changes.changed_at as joined_at,
        true as is_arrival,
        changes.changed_at as previous_at
    from stint_events as changes
    inner join stints
        on stints.profile_id = changes.profile_id
        and stints.organization_id = changes.organization_id
        and stints.stint_number = changes.stint_number
    inner join titles as titles_before
        on titles_before.ladder = changes.ladder
        and titles_before.title = changes.previous_title
    left join titles on titles.ladder = changes.ladder and titles.title = changes.title
    where
        changes.acts_as = 'title_change'
        and changes.title is not null
        and titles_before.is_held_beside
        and not coalesce(titles.is_held_beside, false)
        and stints.is_primary
        and stints.employer_kind is null
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
        and (joinings.is_arrival or joinings.previous_at < here.last_event_at)
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
