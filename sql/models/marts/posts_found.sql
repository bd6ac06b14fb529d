-- grain: One row per search for posts and post that its newest answer shows.
-- key: lookup_key, post
-- kind: view
-- endpoint: post-search
-- purpose: Posts that a search found, in the order of the service; what they say is in posts.
-- columns:
--   lookup_key: Names the search: the same for the same question.
--   subject: What was searched for, in words.
--   post: The post: its URN.
--   position: Its place among all that were found, from 1.
--   received_at: When it was received, UTC.
with

found as (
    select
        lookup_key,
        subject,
        json_text(item, '$.urn') as post,
        row_number() over (partition by lookup_key, json_text(item, '$.urn') order by received_at desc, page, place) as again,
        page,
        place,
        received_at
    from (
        select lookup_key, subject, page, received_at, json_list(body, '$.data.items') as items
        from newest_answers
        where endpoint = 'post-search'
    ) as lists, lateral json_items(items)
)

select
    lookup_key,
    subject,
    post,
    cast(row_number() over (partition by lookup_key order by page, place, received_at, post) as integer) as position,
    received_at
from found
where again = 1 and post is not null
