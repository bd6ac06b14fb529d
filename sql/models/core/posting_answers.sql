-- grain: One row per answer that shows a job posting.
-- key: request_id
-- kind: view
-- purpose: What postings said, as it was received: what the tables of postings are made from.
-- columns:
--   request_id: The request.
--   job_id: The posting: its id, a number as text.
--   received_at: When it was received, UTC.
--   answer: Its place among the answers about this posting, from 1, the oldest first.
--   answers: How many there are.
--   title: Its title, as written.
--   state: LISTED or CLOSED; null when it does not say.
--   listed_at: When it was listed, UTC; of one that is listed again, the last time.
--   original_listed_at: When it was listed first, UTC.
--   closed_at: When it was closed, UTC; null while it is open.
--   is_reposted: Whether it was listed again.
--   employment_status: Full-time, Part-time and the like, as sent.
--   experience_level: Entry level, Director and the like, as sent.
--   location: Where it is, as written.
--   salary_min: The least it pays, in salary_currency a salary_period; null when it does not say.
--   salary_max: The most it pays.
--   salary_currency: Symbol or code, as sent.
--   salary_period: YEARLY, MONTHLY, WEEKLY or HOURLY.
--   applicants: How many applied; null when it does not say.
--   company_id: The network's own id of the company, a number as text.
--   company: The page of the company: the last part of its address, in lower case.
--   url: Address of the posting.
with

received as (
    select
        request_id,
        received_at,
        json_text(body, '$.data') as posting,
        row_number() over (partition by json_text(body, '$.data.job_posting_id'), received_at order by request_id desc) as again
    from answers
    where endpoint = 'job-details' and outcome = 'found'
)

select
    request_id,
    json_text(posting, '$.job_posting_id') as job_id,
    received_at,
    cast(row_number() over (partition by json_text(posting, '$.job_posting_id') order by received_at, request_id) as integer) as answer,
    cast(count(*) over (partition by json_text(posting, '$.job_posting_id')) as integer) as answers,
    json_text(posting, '$.title') as title,
    json_text(posting, '$.job_state') as state,
    instant_of(json_text(posting, '$.listed_at')) as listed_at,
    instant_of(json_text(posting, '$.original_listed_at')) as original_listed_at,
    instant_of(json_text(posting, '$.closed_at')) as closed_at,
    json_text(posting, '$.is_reposted') = 'true' as is_reposted,
    json_text(posting, '$.employment_status') as employment_status,
    json_text(posting, '$.experience_level') as experience_level,
    json_text(posting, '$.location') as location,
    try_cast(json_text(posting, '$.salary_min') as double) as salary_min,
    try_cast(json_text(posting, '$.salary_max') as double) as salary_max,
    json_text(posting, '$.salary_currency') as salary_currency,
    json_text(posting, '$.salary_period') as salary_period,
    whole_number(json_text(posting, '$.total_applies')) as applicants,
    json_text(posting, '$.company_info.company_id') as company_id,
    page_part(json_text(posting, '$.company_info.url')) as company,
    json_text(posting, '$.job_url') as url
from received
where again = 1 and json_text(posting, '$.job_posting_id') is not null
