-- grain: One row per company page that exactly one organisation of job changes has.
-- key: company
-- kind: view
-- purpose: The organisation that a company page belongs to: the link from pages, postings and posts to careers.
-- note: Pages match by the address that events show. A page that two organisations show is left out: it is unknown which one it
-- note: belongs to.
-- columns:
--   company: The page: the last part of its address, in lower case.
--   organization_id: The service's id of the organisation.
select page_part(url) as company, min(organization_id) as organization_id
from organizations
where url is not null
group by page_part(url)
having count(*) = 1
