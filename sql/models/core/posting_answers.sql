-- grain: One row per answer about a job posting, starting with the first answer that shows it.
-- key: request_id
-- kind: view
-- purpose: The content of job postings as received, the source of the posting tables.
-- note: A posting that the service no longer has is closed: the answer that reports it gone keeps the rest of the answer before
-- note: it. Windows read the extracted fields instead of whole answers: a posting has some KB of text.
-- columns:
--   request_id: The request.
--   job_id: The posting: its id, a number as text.
--   received_at: When the answer was received, UTC.
--   answer: Position of the answer among all answers about this posting, from 1, the oldest first.
--   answers: The number of answers about this posting.
--   title: The posting's title, as written.
--   state: LISTED or CLOSED; null when the source does not say.
--   listed_at: When the posting was listed, UTC; if listed again, the last time.
--   original_listed_at: When the posting was first listed, UTC.
--   closed_at: When the posting was closed, or found gone, UTC; null while it is open.
--   gone_at: When the posting was found gone, UTC; null while the service has it.
--   is_reposted: Whether the posting was listed again.
--   employment_status: Full-time, Part-time and the like, as sent.
--   experience_level: Entry level, Director and the like, as sent.
--   location: The posting's location, as written.
--   salary_min: The lowest pay, in salary_currency per salary_period; null when the source does not say.
--   salary_max: The highest pay.
--   salary_currency: Symbol or code, as sent.
--   salary_period: YEARLY, MONTHLY, WEEKLY or HOURLY.
--   applicants: The number of applicants; null when the source does not say.
--   company_id: The network's own id of the company, a number as text.
--   company: The page of the company: the last part of its address, in lower case.
--   url: Address of the posting.
with

said as (
    select
        request_id,
        coalesce(json_text(body, '$.data.job_posting_id'), posting_id(subject)) as job_id,
        received_at,
        case when json_text(body, '$.data.job_posting_id') is null then 0 else 1 end as is_there,
        json_text(body, '$.data.title') as title,
        json_text(body, '$.data.job_state') as state,
        instant_of(json_text(body, '$.data.listed_at')) as listed_at,
        instant_of(json_text(body, '$.data.original_listed_at')) as original_listed_at,
        instant_of(json_text(body, '$.data.closed_at')) as closed_at,
        json_text(body, '$.data.is_reposted') = 'true' as is_reposted,
        json_text(body, '$.data.employment_status') as employment_status,
        json_text(body, '$.data.experience_level') as experience_level,
        json_text(body, '$.data.location') as location,
        try_cast(json_text(body, '$.data.salary_min') as double) as salary_min,
        try_cast(json_text(body, '$.data.salary_max') as double) as salary_max,
        json_text(body, '$.data.salary_currency') as salary_currency,
        json_text(body, '$.data.salary_period') as salary_period,
        whole_number(json_text(body, '$.data.total_applies')) as applicants,
        json_text(body, '$.data.company_info.company_id') as company_id,
        page_part(json_text(body, '$.data.company_info.url')) as company,
        json_text(body, '$.data.job_url') as url
    from answers
    where
        endpoint = 'job-details'
        and (outcome = 'absent' or (outcome = 'found' and json_text(body, '$.data.job_posting_id') is not null))
),

-- Two answers in one millisecond count as one; the one that shows the posting takes precedence.
placed as (
    select
        request_id,
        job_id,
        received_at,
        is_there,
        row_number() over (partition by job_id, received_at order by is_there desc, request_id desc) as again
    from said
    where job_id is not null
),

-- Answers that find a posting gone belong to the last answer that shows it.
shown as (
    select
        request_id,
        job_id,
        received_at,
        is_there,
        sum(is_there) over (
            partition by job_id order by received_at, request_id rows between unbounded preceding and current row
        ) as showing
    from placed
    where again = 1
),

numbered as (
    select
        request_id,
        job_id,
        received_at,
        row_number() over (partition by job_id order by received_at, request_id) as answer,
        count(*) over (partition by job_id) as answers,
        min(case when is_there = 1 then request_id end) over (partition by job_id, showing) as shown_by,
        case
            when is_there = 0
                then min(case when is_there = 0 then received_at end) over (partition by job_id, showing)
        end as gone_at
    from shown
    where showing > 0
)

select
    numbered.request_id,
    numbered.job_id,
    numbered.received_at,
    cast(numbered.answer as integer) as answer,
    cast(numbered.answers as integer) as answers,
    said.title,
    case when numbered.gone_at is null then said.state else 'CLOSED' end as state,
    said.listed_at,
    said.original_listed_at,
    coalesce(said.closed_at, numbered.gone_at) as closed_at,
    numbered.gone_at,
    said.is_reposted,
    said.employment_status,
    said.experience_level,
    said.location,
    said.salary_min,
    said.salary_max,
    said.salary_currency,
    said.salary_period,
    said.applicants,
    said.company_id,
    said.company,
    said.url
from numbered
inner join said on said.request_id = numbered.shown_by
