-- grain: One row per profile that has the same history as another one.
-- key: profile_id
-- tier: detail
-- purpose: Several profiles of one person, so that one can be kept: counted apart, they look like a team that moves together.
-- note: At least 4 events each, all of them with the same organisation, type, date and titles; and the same name, or none.
-- columns:
--   profile_id: The service's stable id of the profile.
--   main_profile_id: The profile to keep of those with this history: the first by id.
--   is_main: True in the row of that profile.
--   profiles: How many profiles have this history.
--   person_name: The name on all of them in lower case; null when none is known.
--   events: How many events each has.
--   first_event_at: When the first change took effect, UTC.
--   last_event_at: When the last change took effect, UTC.
--   history_checksum: What tells their history from others; see person_histories.
with

told as (
    select
        profile_id,
        person_name,
        events,
        first_event_at,
        last_event_at,
        history_checksum,
        count(*) over same_history as profiles,
        min(profile_id) over same_history as main_profile_id
    from person_histories
    window same_history as (partition by person_name, events, first_event_at, last_event_at, history_checksum)
)

select
    profile_id,
    main_profile_id,
    profile_id = main_profile_id as is_main,
    cast(profiles as integer) as profiles,
    person_name,
    events,
    first_event_at,
    last_event_at,
    history_checksum
from told
where profiles > 1
