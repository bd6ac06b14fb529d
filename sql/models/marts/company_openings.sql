-- grain: One row per job posting that the newest page of a company shows.
-- key: company, url
-- endpoint: company-profile
-- purpose: Postings to request: pipelines/postings.yaml takes its list from here.
-- columns:
--   company: The page: the last part of its address, in lower case.
--   url: Address of the posting.
--   title: The posting's title, as sent.
--   received_at: When the page was received, UTC.
select company, json_text(item, '$.url') as url, min(json_text(item, '$.title')) as title, received_at
from (
    select company_answers.company, company_answers.received_at, json_list(answers.body, '$.message.jobs') as items
    from company_answers
    inner join answers on answers.request_id = company_answers.request_id
    where company_answers.answer = company_answers.answers
) as lists, lateral json_items(items)
where json_text(item, '$.url') like '%/jobs/view/%'
group by company, json_text(item, '$.url'), received_at
