-- grain: One row per name by which a company is known: its page, or the network's number.
-- key: kind, name
-- tier: detail
-- kind: view
-- purpose: The organisation of each page or number, and the evidence; rows without organization_id list the unknown ones.
-- columns:
--   kind: page (the last part of an address, in lower case) or company_id (the network's own number).
--   name: The page or the number.
--   organization_id: The organisation in job changes; null where it is unknown.
--   evidence: events (its events show the page) or profile (the profile of a page that events show has the number); null where it is unknown.
--   reason: Why the organisation is unknown: no event shows the name, or several organisations do; null where it is known.
with

pages as (
    select page_part(url) as name, count(*) as organizations, min(organization_id) as organization_id
    from organizations
    where url is not null
    group by page_part(url)
),

profiles as (
    select company, company_id
    from company_answers
    where answer = answers
),

named as (
    select name, organizations, organization_id from pages
    union all
    select profiles.company, 0, cast(null as string)
    from profiles
    left join pages on pages.name = profiles.company
    where pages.name is null
),

numbers as (
    select
        profiles.company_id as name,
        count(distinct profiles.company) as companies,
        min(known.organization_id) as organization_id
    from profiles
    left join company_organizations as known on known.company = profiles.company
    where profiles.company_id is not null
    group by profiles.company_id
)

select
    'page' as kind,
    name,
    case when organizations = 1 then organization_id end as organization_id,
    case when organizations = 1 then 'events' end as evidence,
    case organizations when 0 then 'no event shows it' when 1 then null else 'several organisations show it' end as reason
from named
union all
select
    'company_id' as kind,
    name,
    case when companies = 1 then organization_id end as organization_id,
    case when companies = 1 and organization_id is not null then 'profile' end as evidence,
    case
        when companies > 1 then 'several pages have it'
        when organization_id is null then 'no event shows its page'
    end as reason
from numbers
