-- grain: One row per post that a search found.
-- key: post
-- kind: view
-- endpoint: post-search
-- purpose: What organisations and people say, and how it was received; newest counts.
-- columns:
--   post: The post: its URN.
--   url: Its address.
--   content: What it says.
--   posted_at: When it was published, UTC.
--   is_repost: Whether it shares another one.
--   author_name: Who wrote it, as written.
--   author_type: A company or a person, as sent.
--   author_url: Page of the author.
--   organization_id: The organisation that wrote it; null where a person did, or no event shows one of that page.
--   reactions: Reactions of all kinds.
--   comments: Comments.
--   received_at: When it was last received, UTC.
with

found as (
    select
        json_text(item, '$.urn') as post,
        row_number() over (partition by json_text(item, '$.urn') order by received_at desc, request_id, place) as again,
        item,
        received_at
    from (
        select request_id, received_at, json_list(body, '$.data.items') as items
        from newest_answers
        where endpoint = 'post-search'
    ) as lists, lateral json_items(items)
)

select
    post,
    json_text(item, '$.url') as url,
    json_text(item, '$.text') as content,
    instant_of_ms(json_text(item, '$.posted_date_timestamp')) as posted_at,
    json_text(item, '$.reposted') = 'true' as is_repost,
    json_text(item, '$.author.full_name') as author_name,
    json_text(item, '$.author.type') as author_type,
    json_text(item, '$.author.url') as author_url,
    company_organizations.organization_id,
    whole_number(json_text(item, '$.social_activity_counts_insight.total_reaction_count')) as reactions,
    whole_number(json_text(item, '$.social_activity_counts_insight.num_comments')) as comments,
    received_at
from found
left join company_organizations on company_organizations.company = page_part(json_text(found.item, '$.author.url'))
where again = 1 and post is not null
