-- grain: One row per public page that exactly one person of job changes has.
-- key: name
-- kind: view
-- purpose: The person that a page belongs to: the link from activities and search results to careers.
-- note: A page that two people show is left out: it is unknown whose it is.
-- columns:
--   name: The page: the last part of its address, in lower case.
--   profile_id: The service's stable id of the person.
select page as name, min(profile_id) as profile_id
from person_pages
where page <> ''
group by page
having count(*) = 1
