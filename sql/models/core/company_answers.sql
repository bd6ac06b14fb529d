-- grain: One row per answer that shows a company page, or says that there is none.
-- key: request_id
-- kind: view
-- purpose: What the pages of companies said, as it was received: what the tables of companies are made from.
-- note: An answer that named a person who was erased is emptied, and says nothing any more. Of several about one page
-- note: that came in the same millisecond, by two spellings of its address, one counts.
-- columns:
--   request_id: The request.
--   company: The page asked for: the last part of its address, in lower case.
--   subject: What was asked for, as the list spells it.
--   is_found: False where the service says that there is no such page.
--   received_at: When it was received, UTC.
--   answer: Its place among the answers about this company, from 1, the oldest first.
--   answers: How many there are.
--   first_asked_at: When the first of them was received, UTC.
--   company_id: The network's own id, a number as text.
--   company_name: Its name.
--   company_type: Public, private, partnership and the like, as sent.
--   company_size: Range of the headcount, as sent.
--   employees: How many people it has by its page; null when that shows none.
--   followers: How many follow it; null when the page shows none.
--   open_jobs: Openings that the page shows; null when it shows none.
--   industry: Its industry, as sent.
--   headquarters: Where it is at home, as sent.
--   country_code: ISO country code.
--   founded_year: The year it was founded in, as sent; null when not listed.
--   website: Its website.
--   url: Address of the page.
--   page: The page itself, JSON; null where there is none.
with

received as (
    select
        request_id,
        page_part(subject) as company,
        subject,
        outcome = 'found' as is_found,
        received_at,
        case when outcome = 'found' then json_text(body, '$.message') end as page,
        row_number() over (partition by page_part(subject), received_at order by request_id desc) as again
    from answers
    where
        endpoint = 'company-profile'
        and (outcome = 'absent' or (outcome = 'found' and json_text(body, '$.message') is not null))
)

select
    request_id,
    company,
    subject,
    is_found,
    received_at,
    cast(row_number() over (partition by company order by received_at, request_id) as integer) as answer,
    cast(count(*) over (partition by company) as integer) as answers,
    min(received_at) over (partition by company) as first_asked_at,
    json_text(page, '$.company_id') as company_id,
    json_text(page, '$.company_name') as company_name,
    json_text(page, '$.company_type') as company_type,
    json_text(page, '$.company_size') as company_size,
    whole_number(json_text(page, '$.employee_count')) as employees,
    whole_number(json_text(page, '$.followers')) as followers,
    whole_number(json_text(page, '$.jobs[0].open_jobs_count')) as open_jobs,
    json_text(page, '$.industry') as industry,
    json_text(page, '$.headquarters') as headquarters,
    json_text(page, '$.country_code') as country_code,
    json_text(page, '$.founded_year') as founded_year,
    json_text(page, '$.website') as website,
    coalesce(json_text(page, '$.formatted_url'), json_text(page, '$.url')) as url,
    page
from received
where again = 1
