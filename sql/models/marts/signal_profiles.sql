-- grain: One row per signal and profile that it watches.
-- key: signal_id, profile_url
-- endpoint: signal-create, signal-delivery
-- purpose: Who is watched since when, and who has delivered nothing yet: a lost baseline shows here.
-- columns:
--   signal_id: The service's id of the signal.
--   profile_url: The person's page, as requested or delivered.
--   profile_id: The person in job changes, by that page; null where no event shows it, or several people have it.
--   added_at: When a run of this warehouse added the profile, UTC; null where it was added elsewhere.
--   baseline_at: When the first delivery about the profile was received, UTC: from then on the person's activity is delivered; null without a delivery.
--   activities: The number of activities delivered.
--   last_activity_at: When the last delivered activity happened, UTC; null where there is none.
with

asked as (
    select json_text(body, '$.message.signal_id') as signal_id, subject as profile_url, min(received_at) as added_at
    from answers
    where endpoint = 'signal-create' and outcome = 'found' and json_text(body, '$.message.signal_id') is not null
    group by json_text(body, '$.message.signal_id'), subject
),

begun as (
    select signal_id, json_text(item, '$.profile_url') as profile_url, min(received_at) as baseline_at
    from (
        select received_at, json_text(body, '$.job_id') as signal_id, json_list(body, '$.profiles') as items
        from answers
        where endpoint = 'signal-delivery' and json_text(body, '$.event') = 'baseline'
    ) as lists, lateral json_items(items)
    group by signal_id, json_text(item, '$.profile_url')
),

done as (
    select signal_id, profile_url, count(*) as activities, max(occurred_at) as last_activity_at
    from person_activities
    group by signal_id, profile_url
),

watched as (
    select signal_id, profile_url from asked
    union
    select signal_id, profile_url from begun
    union
    select signal_id, profile_url from done
)

select
    watched.signal_id,
    watched.profile_url,
    person_names.profile_id,
    asked.added_at,
    begun.baseline_at,
    cast(coalesce(done.activities, 0) as integer) as activities,
    done.last_activity_at
from watched
left join asked on asked.signal_id = watched.signal_id and asked.profile_url = watched.profile_url
left join begun on begun.signal_id = watched.signal_id and begun.profile_url = watched.profile_url
left join done on done.signal_id = watched.signal_id and done.profile_url = watched.profile_url
left join person_names on person_names.name = page_part(watched.profile_url)
where watched.signal_id is not null and watched.profile_url is not null
