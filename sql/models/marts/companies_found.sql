-- grain: One row per search and company that it found, now or before.
-- key: lookup_key, company_id
-- endpoint: company-search
-- purpose: Companies that a search found, the source for lists of organisations.
-- columns:
--   lookup_key: The key of the search: equal searches have the same key.
--   subject: The search, in words.
--   company_id: The network's own id, a number as text.
--   position: The company's position in the newest answer, from 1; null once it is missing there.
--   company: The page: the last part of its address, in lower case.
--   organization_id: The organisation in job changes; null where no event shows that page.
--   company_name: The company's name.
--   tagline: The company's tagline, as sent.
--   url: Address of the page.
--   first_received_at: When the search first found the company, UTC.
--   received_at: When the search last found the company, UTC.
with

found as (
    select
        lists.lookup_key,
        lists.subject,
        json_text(item, '$.id') as company_id,
        lists.request_id,
        lists.page,
        place,
        item,
        lists.received_at
    from (
        select request_id, lookup_key, subject, page, received_at, json_list(body, '$.data.items') as items
        from answers
        where endpoint = 'company-search' and outcome = 'found'
    ) as lists, lateral json_items(items)
),

sighted as (
    select
        found.lookup_key,
        found.subject,
        found.company_id,
        found.page,
        found.place,
        found.item,
        found.received_at,
        newest_answers.request_id is not null as is_newest,
        min(found.received_at) over (partition by found.lookup_key, found.company_id) as first_received_at,
        row_number() over (
            partition by found.lookup_key, found.company_id
            order by
                case when newest_answers.request_id is null then 1 else 0 end,
                found.received_at desc, found.page, found.place, found.request_id
        ) as again
    from found
    left join newest_answers on newest_answers.request_id = found.request_id
    where found.company_id is not null
)

select
    lookup_key,
    subject,
    company_id,
    case
        when is_newest
            then cast(
                row_number() over (partition by lookup_key, is_newest order by page, place, received_at, company_id) as integer
            )
    end as position,
    page_part(json_text(item, '$.network_url')) as company,
    company_organizations.organization_id,
    json_text(item, '$.name') as company_name,
    json_text(item, '$.tagline') as tagline,
    json_text(item, '$.network_url') as url,
    first_received_at,
    received_at
from sighted
left join company_organizations on company_organizations.company = page_part(json_text(sighted.item, '$.network_url'))
where again = 1
