-- grain: One row per person whose public page is known.
-- key: profile_id
-- incremental_by: profile_id
-- purpose: The newest address of each person's page, so that every table shows the same one.
-- note: If a person has several addresses, the one detected last counts; an event without an address changes nothing.
-- columns:
--   profile_id: The service's stable id of the person.
--   person_network_url: The person's public page, as sent.
--   page: The last part of that address, in lower case: the same in all spellings.
with

named as (
    select
        profile_id,
        person_network_url,
        row_number() over (
            partition by profile_id
            order by detected_at desc, changed_at desc, event_key desc
        ) as recency
    from job_change_events
    where person_network_url is not null
)

select profile_id, person_network_url, page_part(person_network_url) as page
from named
where recency = 1
