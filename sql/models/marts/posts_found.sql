-- grain: One row per search and post that it found, now or before.
-- key: lookup_key, post
-- endpoint: post-search
-- purpose: Posts that a search found, in the order of the service; posts has their content.
-- columns:
--   lookup_key: The key of the search: equal searches have the same key.
--   subject: The search, in words.
--   post: The post: its URN.
--   position: The post's position in the newest answer, from 1; null once it is missing there.
--   first_received_at: When the search first found the post, UTC.
--   received_at: When the search last found the post, UTC.
with

found as (
    select
        lists.lookup_key,
        lists.subject,
        json_text(item, '$.urn') as post,
        lists.request_id,
        lists.page,
        place,
        lists.received_at
    from (
        select request_id, lookup_key, subject, page, received_at, json_list(body, '$.data.items') as items
        from answers
        where endpoint = 'post-search' and outcome = 'found'
    ) as lists, lateral json_items(items)
),

sighted as (
    select
        found.lookup_key,
        found.subject,
        found.post,
        found.page,
        found.place,
        found.received_at,
        newest_answers.request_id is not null as is_newest,
        min(found.received_at) over (partition by found.lookup_key, found.post) as first_received_at,
        row_number() over (
            partition by found.lookup_key, found.post
            order by
                case when newest_answers.request_id is null then 1 else 0 end,
                found.received_at desc, found.page, found.place, found.request_id
        ) as again
    from found
    left join newest_answers on newest_answers.request_id = found.request_id
    where found.post is not null
)

select
    lookup_key,
    subject,
    post,
    case
        when is_newest
            then cast(
                row_number() over (partition by lookup_key, is_newest order by page, place, received_at, post) as integer
            )
    end as position,
    first_received_at,
    received_at
from sighted
where again = 1
