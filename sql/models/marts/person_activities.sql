-- grain: One row per reaction, comment or reply that a signal delivered.
-- key: event_id
-- kind: view
-- endpoint: signal-create, signal-delivery
-- purpose: The activity of watched people: who interacts with whom, before and after a change of job.
-- note: Each event_id appears once, however often and in whatever order it was delivered.
-- columns:
--   event_id: The service's id of the activity.
--   profile_url: The person's page, as the signal names it.
--   profile_name: The person's name, as written.
--   profile_id: The person in job changes, by that page; null where no event shows it, or several people have it.
--   activity: reaction, comment or reply; null where the activity is something else.
--   occurred_at: When the person reacted, commented or replied, UTC.
--   detected_at: When the service saw the activity, UTC.
--   reaction: The reaction, such as PRAISE; null for comments and replies.
--   comment: The person's text, at most 2,000 characters; null for reactions.
--   post_url: Address of the post.
--   post_text: The first 300 characters of the post.
--   post_author_name: The author, as written.
--   post_author_url: Page of the author.
--   organization_id: The organisation that wrote the post; null where a person did, or no event shows that page.
--   signal_id: The signal that delivered the activity first.
--   received_at: When the activity was first received, UTC.
with

-- The key alone decides which delivery of an activity counts: a window over the activities would hold all of them in memory.
-- Items without an event_id are left out by position: a condition on the items would join each delivery with its list again.
delivered as (
    select
        request_id,
        place,
        case
            when event_id is not null
                then row_number() over (partition by event_id order by received_at, request_id, place)
        end as again
    from (
        select request_id, received_at, place, json_text(item, '$.event_id') as event_id
        from (
            select request_id, received_at, json_list(body, '$.changes') as items
            from answers
            where endpoint = 'signal-delivery'
        ) as lists, lateral json_items(items)
    ) as keys
),

first_delivered as (
    select request_id, place
    from delivered
    where again = 1
)

select
    said.event_id as event_id,
    said.profile_url as profile_url,
    said.profile_name as profile_name,
    person_names.profile_id,
    case when said.signal_type in ('reaction', 'comment', 'reply') then said.signal_type end as activity,
    instant_of(said.change_data.occurred_at) as occurred_at,
    instant_of(said.detected_at) as detected_at,
    said.change_data.reaction_type as reaction,
    said.change_data.comment_text as comment,
    said.change_data.post_url as post_url,
    said.change_data.post_text as post_text,
    said.change_data.post_author.name as post_author_name,
    said.change_data.post_author.url as post_author_url,
    company_organizations.organization_id,
    signal_id,
    received_at
from (
    select activity_of(item) as said, signal_id, received_at, request_id, place
    from (
        select request_id, received_at, json_text(body, '$.job_id') as signal_id, json_list(body, '$.changes') as items
        from answers
        where endpoint = 'signal-delivery'
    ) as lists, lateral json_items(items)
) as activities
inner join first_delivered on first_delivered.request_id = activities.request_id and first_delivered.place = activities.place
left join person_names on person_names.name = page_part(activities.said.profile_url)
left join company_organizations on company_organizations.company = page_part(activities.said.change_data.post_author.url)
