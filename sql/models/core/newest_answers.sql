-- grain: One row per page of what was last answered to a question.
-- key: request_id
-- kind: view
-- purpose: The newest reading of each list, page by page: what models over lists are made from.
-- note: A reading begins with page 1: pages of the one before it are left out, also where the new one has fewer, or none.
-- columns:
--   request_id: The request.
--   endpoint: The endpoint.
--   lookup_key: Names the question: the same for the same one.
--   subject: What was asked for.
--   page: The page, from 1.
--   received_at: When it was received, UTC.
--   body: The answer, JSON.
with

numbered as (
    select
        request_id,
        endpoint,
        lookup_key,
        subject,
        page,
        outcome,
        received_at,
        body,
        max(case when page = 1 then received_at end) over (partition by lookup_key) as reading_began_at,
        row_number() over (partition by lookup_key, page order by received_at desc, request_id desc) as again
    from answers
    where outcome <> 'later'
)

select request_id, endpoint, lookup_key, subject, page, received_at, body
from numbered
where again = 1 and outcome = 'found' and received_at >= reading_began_at
