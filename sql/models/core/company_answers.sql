-- grain: One row per answer that shows a company page, or says that there is none.
-- key: request_id
-- kind: view
-- purpose: The content of company pages as received, the source of the company tables.
-- note: An answer that named an erased person is emptied and adds nothing. Where several answers about one page came in the
-- note: same millisecond, under two spellings of its address, one counts. Windows read the extracted fields instead of whole
-- note: pages: a page has some 10 KB.
-- columns:
--   request_id: The request.
--   company: The page asked for: the last part of its address, in lower case.
--   subject: The subject of the request, as the list spells it.
--   is_found: False where the service says that no such page exists.
--   received_at: When the answer was received, UTC.
--   answer: Position of the answer among all answers about this company, from 1, the oldest first.
--   answers: The number of answers about this company.
--   first_asked_at: When the first answer about this company was received, UTC.
--   company_id: The network's own id, a number as text.
--   company_name: The company's name.
--   company_type: Public, private, partnership and the like, as sent.
--   company_size: Range of the headcount, as sent.
--   employees: The headcount on the page; null when it shows none.
--   followers: The number of followers; null when the page shows none.
--   open_jobs: Openings that the page shows; null when it shows none.
--   industry: The company's industry, as sent.
--   headquarters: The company's headquarters, as sent.
--   country_code: ISO country code.
--   founded_year: The year the company was founded, as sent; null when not listed.
--   website: The company's website.
--   url: Address of the page.
--   last_round_amount: The amount of the last funding round, as sent; null where the page names none.
--   last_round_on: The date of the last funding round, as sent.
--   last_round_type: The type of the last funding round, as sent.
--   has_last_round: Whether the page names a last funding round.
--   is_newest_with_last_round: Whether the answer is the newest that names a last round.
--   is_newest_with_rounds: Whether the answer is the newest with the list of rounds, which comes only on request.
with

said as (
    select
        request_id,
        page_part(subject) as company,
        subject,
        outcome = 'found' as is_found,
        received_at,
        json_text(body, '$.message.company_id') as company_id,
        json_text(body, '$.message.company_name') as company_name,
        json_text(body, '$.message.company_type') as company_type,
        json_text(body, '$.message.company_size') as company_size,
        whole_number(json_text(body, '$.message.employee_count')) as employees,
        whole_number(json_text(body, '$.message.followers')) as followers,
        whole_number(json_text(body, '$.message.jobs[0].open_jobs_count')) as open_jobs,
        json_text(body, '$.message.industry') as industry,
        json_text(body, '$.message.headquarters') as headquarters,
        json_text(body, '$.message.country_code') as country_code,
        json_text(body, '$.message.founded_year') as founded_year,
        json_text(body, '$.message.website') as website,
        coalesce(json_text(body, '$.message.formatted_url'), json_text(body, '$.message.url')) as url,
        json_text(body, '$.message.funding.last_round.amount') as last_round_amount,
        json_text(body, '$.message.funding.last_round.date') as last_round_on,
        json_text(body, '$.message.funding.last_round.type') as last_round_type,
        coalesce(
            json_text(body, '$.message.funding.last_round.amount'),
            json_text(body, '$.message.funding.last_round.date'),
            json_text(body, '$.message.funding.last_round.type')
        ) is not null as has_last_round,
        json_text(body, '$.message.funding_rounds.rounds') is not null as has_rounds
    from (
        -- An answer that asks us to retry counts as an answer without a page.
        select request_id, subject, outcome, received_at, case when outcome = 'found' then body end as body
        from answers
        where endpoint = 'company-profile'
    ) as received
    where outcome = 'absent' or json_text(body, '$.message') is not null
),

placed as (
    select
        request_id,
        company,
        subject,
        is_found,
        received_at,
        company_id,
        company_name,
        company_type,
        company_size,
        employees,
        followers,
        open_jobs,
        industry,
        headquarters,
        country_code,
        founded_year,
        website,
        url,
        last_round_amount,
        last_round_on,
        last_round_type,
        has_last_round,
        has_rounds,
        row_number() over (partition by company, received_at order by request_id desc) as again
    from said
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
    company_id,
    company_name,
    company_type,
    company_size,
    employees,
    followers,
    open_jobs,
    industry,
    headquarters,
    country_code,
    founded_year,
    website,
    url,
    last_round_amount,
    last_round_on,
    last_round_type,
    has_last_round,
    has_last_round
    and row_number() over (partition by company, has_last_round order by received_at desc, request_id desc) = 1
        as is_newest_with_last_round,
    has_rounds
    and row_number() over (partition by company, has_rounds order by received_at desc, request_id desc) = 1
        as is_newest_with_rounds
from placed
where again = 1
