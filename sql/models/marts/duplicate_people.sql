-- grain: One row per profile of a person who has several.
-- key: profile_id
-- tier: detail
-- values: evidence: page | history | page and history
-- purpose: Several profiles of one person, so that one can be kept: counted separately, they look like a team that moves together.
-- note: A match by page is certain: both profiles show the page or handle, and their names are the same, or one begins with the
-- note: other, or one has no name. Where the names differ, both must show the page at the same time: after a rename another
-- note: person can take a page. A page that more than 10 profiles show is a placeholder and is ignored.
-- note: A match by history is most likely: at least 4 events each, all of them with the same organisation, type, date and
-- note: titles; and the same name, or none.
-- columns:
--   profile_id: The service's stable id of the profile.
--   main_profile_id: The profile to keep for the person: the one with the most events; on a tie, the first by id.
--   is_main: True in the row of the profile to keep.
--   profiles: How many profiles the person has.
--   evidence: Why the profiles are one person: page (certain), history (most likely), or page and history.
--   person_name: The name on the profile in lower case; of several, the first in alphabetical order; null when none is known.
--   events: How many events the profile has.
--   first_event_at: When the first change took effect, UTC.
--   last_event_at: When the last change took effect, UTC.
--   history_checksum: Distinguishes histories of 4 events and more; see person_histories.
with

addresses as (
    select
        profile_id,
        coalesce(person_network_url, person_handle) as address,
        min(detected_at) as shown_from_at,
        max(detected_at) as shown_until_at
    from job_change_events
    where person_network_url is not null or person_handle is not null
    group by profile_id, coalesce(person_network_url, person_handle)
),

pages as (
    select
        profile_id,
        page_part(address) as page,
        min(shown_from_at) as shown_from_at,
        max(shown_until_at) as shown_until_at
    from addresses
    where page_part(address) <> ''
    group by profile_id, page_part(address)
),

shared as (
    select pages.profile_id, pages.page, pages.shown_from_at, pages.shown_until_at
    from pages
    inner join (select page from pages group by page having count(*) between 2 and 10) as several on several.page = pages.page
),

named as (
    select shared.profile_id, min(plain_name(events.person_full_name)) as name
    from (select distinct profile_id from shared) as shared
    inner join job_change_events as events on events.profile_id = shared.profile_id
    group by shared.profile_id
),

of_one_page as (
    select distinct one.profile_id, other.profile_id as other_profile_id
    from shared as one
    inner join shared as other on other.page = one.page
    inner join named as one_name on one_name.profile_id = one.profile_id
    inner join named as other_name on other_name.profile_id = other.profile_id
    where
        one.profile_id <> other.profile_id
        and (
            one_name.name is null
            or other_name.name is null
            or one_name.name = other_name.name
            or one_name.name like other_name.name || ' %'
            or other_name.name like one_name.name || ' %'
            or (one.shown_from_at <= other.shown_until_at and other.shown_from_at <= one.shown_until_at)
        )
),

told as (
    select
        profile_id,
        history_checksum,
        count(*) over same_history as profiles,
        min(profile_id) over same_history as first_profile_id
    from person_histories
    window same_history as (partition by person_name, events, first_event_at, last_event_at, history_checksum)
),

links as (
    select profile_id, other_profile_id, 1 as by_page, 0 as by_history
    from of_one_page
    union all
    select profile_id, first_profile_id as other_profile_id, 0 as by_page, 1 as by_history
    from told
    where profiles > 1
    union all
    select first_profile_id as profile_id, profile_id as other_profile_id, 0 as by_page, 1 as by_history
    from told
    where profiles > 1
),

-- The first profile among those linked to each one, then the first among those that these lead to, and so on: pages and
-- histories can form chains.
nearest as (
    select
        profile_id,
        least(profile_id, min(other_profile_id)) as first_profile_id,
        max(by_page) as by_page,
        max(by_history) as by_history
    from links
    group by profile_id
),

further as (
    select
        links.profile_id,
        least(min(own.first_profile_id), min(others.first_profile_id)) as first_profile_id
    from links
    inner join nearest as own on own.profile_id = links.profile_id
    inner join nearest as others on others.profile_id = links.other_profile_id
    group by links.profile_id
),

people as (
    select further.profile_id, coalesce(beyond.first_profile_id, further.first_profile_id) as first_profile_id
    from further
    left join further as beyond on beyond.profile_id = further.first_profile_id
),

described as (
    select
        people.profile_id,
        people.first_profile_id,
        min(lower(events.person_full_name)) as person_name,
        count(*) as events,
        min(career_date(events.changed_at, least(events.detected_at, events.first_seen_at))) as first_event_at,
        max(career_date(events.changed_at, least(events.detected_at, events.first_seen_at))) as last_event_at
    from people
    inner join job_change_events as events on events.profile_id = people.profile_id
    group by people.profile_id, people.first_profile_id
),

chosen as (
    select
        profile_id,
        first_value(profile_id) over (partition by first_profile_id order by events desc, profile_id) as main_profile_id,
        count(*) over (partition by first_profile_id) as profiles,
        person_name,
        events,
        first_event_at,
        last_event_at
    from described
)

select
    chosen.profile_id,
    chosen.main_profile_id,
    chosen.profile_id = chosen.main_profile_id as is_main,
    cast(chosen.profiles as integer) as profiles,
    case
        when nearest.by_page = 1 and nearest.by_history = 1 then 'page and history'
        when nearest.by_page = 1 then 'page'
        else 'history'
    end as evidence,
    chosen.person_name,
    cast(chosen.events as integer) as events,
    chosen.first_event_at,
    chosen.last_event_at,
    told.history_checksum
from chosen
inner join nearest on nearest.profile_id = chosen.profile_id
left join told on told.profile_id = chosen.profile_id
