-- grain: One row per answer that belongs to the newest reading of a question.
-- key: request_id
-- kind: view
-- purpose: The newest reading of each list, page by page: the source of the models over lists.
-- note: A reading is everything that one run read, from page 1: it replaces all pages of the reading before, even where it has
-- note: fewer or none. A reading that the service or a budget ended does not replace one that was complete. A page appears
-- note: twice where items disappeared while the list was read: each answer may have items that the other lacks.
-- columns:
--   request_id: The request.
--   endpoint: The endpoint.
--   lookup_key: The key of the question: equal questions have the same key.
--   subject: The subject of the question.
--   page: The page, from 1.
--   received_at: When the answer was received, UTC.
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
