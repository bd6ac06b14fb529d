-- grain: One row per requested post and person or organisation who shared it.
-- key: url, page, place
-- endpoint: post-reposts
-- purpose: Who shared a post, and with what text.
-- columns:
--   url: Address of the post, as requested.
--   page: Page of the answer, from 1.
--   place: Place of the share on the page, from 1.
--   actor_name: The person or company that shared the post, as written.
--   actor_urn: The network's name for a person; null for a company.
--   actor_company_id: The network's id of a company; null for a person.
--   headline: Headline of a person, or the followers of a company, as written.
--   commentary: The text added to the share; null when there is none.
--   received_at: When the answer was received, UTC.
-- A page was read twice where items disappeared while the list was read.
with

listed as (
    select
        lists.subject as url,
        lists.page,
        place,
        json_text(item, '$.actor.name') as actor_name,
        json_text(item, '$.actor.image.profile_urn') as actor_urn,
        json_text(item, '$.actor.image.company_id') as actor_company_id,
        json_text(item, '$.actor.description') as headline,
        json_text(item, '$.commentary') as commentary,
        lists.received_at,
        row_number() over (
            partition by lists.subject, lists.page, place order by lists.received_at desc, lists.request_id desc
        ) as again
    from (
        select request_id, subject, page, received_at, json_list(body, '$.message.reposts') as items
        from newest_answers
        where endpoint = 'post-reposts'
    ) as lists, lateral json_items(items)
)

select url, page, place, actor_name, actor_urn, actor_company_id, headline, commentary, received_at
from listed
where again = 1
