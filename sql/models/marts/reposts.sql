-- grain: One row per post that was asked for and one who shared it.
-- key: url, page, place
-- kind: view
-- endpoint: post-reposts
-- purpose: Who carried a post further, and in what words.
-- columns:
--   url: Address of the post, as it was asked for.
--   page: Page of the answer, from 1.
--   place: Place on it, from 1.
--   actor_name: Who shared it, as written.
--   actor_urn: The network's name for a person; null for a company.
--   actor_company_id: The network's id of a company; null for a person.
--   headline: Headline of a person, or the followers of a company, as written.
--   commentary: What they said; null when they only shared it.
--   received_at: When it was received, UTC.
select
    subject as url,
    page,
    place,
    json_text(item, '$.actor.name') as actor_name,
    json_text(item, '$.actor.image.profile_urn') as actor_urn,
    json_text(item, '$.actor.image.company_id') as actor_company_id,
    json_text(item, '$.actor.description') as headline,
    json_text(item, '$.commentary') as commentary,
    received_at
from (
    select subject, page, received_at, json_list(body, '$.message.reposts') as items
    from newest_answers
    where endpoint = 'post-reposts'
) as lists, lateral json_items(items)
