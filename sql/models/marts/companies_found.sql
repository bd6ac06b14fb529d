-- grain: One row per search for companies and company that its newest answer shows.
-- key: lookup_key, company_id
-- endpoint: company-search
-- purpose: Companies that a search found: what lists of organisations are made from.
-- columns:
--   lookup_key: Names the search: the same for the same question.
--   subject: What was searched for, in words.
--   company_id: The network's own id, a number as text.
--   position: Its place among all that were found, from 1.
--   company: The page: the last part of its address, in lower case.
--   organization_id: The organisation in job changes; null where no event shows one of that page.
--   company_name: Its name.
--   tagline: What it says of itself, as sent.
--   url: Address of the page.
--   received_at: When it was received, UTC.
with

found as (
    select
        lookup_key,
        subject,
        json_text(item, '$.id') as company_id,
        row_number() over (partition by lookup_key, json_text(item, '$.id') order by received_at desc, page, place) as again,
        page,
        place,
        item,
        received_at
    from (
        select lookup_key, subject, page, received_at, json_list(body, '$.data.items') as items
        from newest_answers
        where endpoint = 'company-search'
    ) as lists, lateral json_items(items)
)

select
    lookup_key,
    subject,
    company_id,
    cast(row_number() over (partition by lookup_key order by page, place, received_at, company_id) as integer) as position,
    page_part(json_text(item, '$.network_url')) as company,
    company_organizations.organization_id,
    json_text(item, '$.name') as company_name,
    json_text(item, '$.tagline') as tagline,
    json_text(item, '$.network_url') as url,
    received_at
from found
left join company_organizations on company_organizations.company = page_part(json_text(found.item, '$.network_url'))
where again = 1 and company_id is not null
