-- grain: One row per page of what was last answered to a question.
-- key: request_id
-- kind: view
-- purpose: The newest reading of each list, page by page: what models over lists are made from.
-- note: A list may be read again before all of its pages are: then pages of two readings stand here, of each the newest.
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
        received_at,
        body,
        row_number() over (partition by lookup_key, page order by received_at desc, request_id desc) as again
    from answers
    where outcome = 'found'
)

select request_id, endpoint, lookup_key, subject, page, received_at, body
from numbered
where again = 1
