-- grain: One row per company page that exactly one organisation of job changes has.
-- key: company
-- kind: view
-- purpose: Which organisation a company is: what joins pages, postings and posts to careers.
-- note: By the address that events show. A page that two organisations show is left out: which one it is cannot be told.
-- columns:
--   company: The page: the last part of its address, in lower case.
--   organization_id: The service's id of the organisation.
select page_part(url) as company, min(organization_id) as organization_id
from organizations
where url is not null
group by page_part(url)
having count(*) = 1
