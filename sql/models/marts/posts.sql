-- grain: One row per post that a search found, now or before.
-- key: post
-- endpoint: post-search
-- purpose: Posts of organisations and people with their newest counts.
-- note: A search for the last week covers a different week each time, so posts that were found once stay.
-- columns:
--   post: The post: its URN.
--   url: Address of the post.
--   content: Text of the post.
--   posted_at: When the post was published, UTC.
--   is_repost: Whether the post shares another one.
--   author_name: The author, as written.
--   author_type: A company or a person, as sent.
--   author_url: Page of the author.
--   organization_id: The organisation that wrote the post; null where a person did, or no event shows that page.
--   reactions: Reactions of all kinds.
--   comments: The number of comments.
--   first_received_at: When the post was first received, UTC.
--   received_at: When the post was last received, UTC.
with

found as (
    select
        json_text(item, '$.urn') as post,
        json_text(item, '$.url') as url,
        json_text(item, '$.text') as content,
        instant_of_ms(json_text(item, '$.posted_date_timestamp')) as posted_at,
        json_text(item, '$.reposted') = 'true' as is_repost,
        json_text(item, '$.author.full_name') as author_name,
        json_text(item, '$.author.type') as author_type,
        json_text(item, '$.author.url') as author_url,
        whole_number(json_text(item, '$.social_activity_counts_insight.total_reaction_count')) as reactions,
        whole_number(json_text(item, '$.social_activity_counts_insight.num_comments')) as comments,
        received_at,
        request_id,
        place
    from (
        select request_id, received_at, json_list(body, '$.data.items') as items
        from answers
        where endpoint = 'post-search' and outcome = 'found'
    ) as lists, lateral json_items(items)
),

sighted as (
    select
        post,
        url,
        content,
        posted_at,
        is_repost,
        author_name,
        author_type,
        author_url,
        reactions,
        comments,
        received_at,
        min(received_at) over (partition by post) as first_received_at,
        row_number() over (partition by post order by received_at desc, request_id, place) as again
    from found
    where post is not null
)

select
    sighted.post,
    sighted.url,
    sighted.content,
    sighted.posted_at,
    sighted.is_repost,
    sighted.author_name,
    sighted.author_type,
    sighted.author_url,
    company_organizations.organization_id,
    sighted.reactions,
    sighted.comments,
    sighted.first_received_at,
    sighted.received_at
from sighted
left join company_organizations on company_organizations.company = page_part(sighted.author_url)
where sighted.again = 1
