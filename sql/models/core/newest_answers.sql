-- grain: One row per answer of what was last answered to a question.
-- key: request_id
-- kind: view
-- purpose: The newest reading of each list, page by page: what models over lists are made from.
-- note: A reading is what one run read, from page 1: pages of the one before it are left out, also where the new one has fewer, or none. One that the service or a budget ended takes the place of none that was read to its end. A page is there twice where items went while the list was read: each answer may have what the other has not.
-- columns:
--   request_id: The request.
--   endpoint: The endpoint.
--   lookup_key: Names the question: the same for the same one.
--   subject: What was asked for.
--   page: The page, from 1.
--   received_at: When it was received, UTC.
--   body: The answer, JSON.
with

begun as (
    select
        lookup_key,
        run_id,
        max(case when page = 1 then received_at end) as begun_at,
        max(request_id) as request_id,
        max(case when has_more then 0 else 1 end) as is_whole
    from answers
    where outcome not in ('later', 'refused')
    group by lookup_key, run_id
),

readings as (
    select
        lookup_key,
        run_id,
        row_number() over (partition by lookup_key order by is_whole desc, begun_at desc, request_id desc) as again
    from begun
    where begun_at is not null
)

select
    answers.request_id,
    answers.endpoint,
    answers.lookup_key,
    answers.subject,
    answers.page,
    answers.received_at,
    answers.body
from answers
inner join readings on readings.lookup_key = answers.lookup_key and readings.run_id = answers.run_id
where readings.again = 1 and answers.outcome in ('found', 'absent')
