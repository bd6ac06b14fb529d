-- grain: One row per answer that shows a company page, or says that there is none.
-- key: request_id
-- kind: view
-- purpose: What the pages of companies said, as it was received: what the tables of companies are made from.
-- note: An answer that named a person who was erased is emptied, and says nothing any more.
-- columns:
--   request_id: The request.
--   company: The page asked for: the last part of its address, in lower case.
--   subject: What was asked for, as the list spells it.
--   is_found: False where the service says that there is no such page.
--   received_at: When it was received, UTC.
--   answer: Its place among the answers about this company, from 1, the oldest first.
--   answers: How many there are.
--   page: The page, JSON; null where there is none.
with

received as (
    select
        request_id,
        page_part(subject) as company,
        subject,
        outcome = 'found' as is_found,
        received_at,
        case when outcome = 'found' then json_text(body, '$.message') end as page
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
    page
from received
