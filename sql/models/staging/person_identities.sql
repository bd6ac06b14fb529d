-- grain: One row per name by which a person is known: a public page, or what a search or a list calls them.
-- key: kind, name
-- kind: view
-- purpose: Who a page or a URN is, and by what that is known; without profile_id it is the list of what is not.
-- columns:
--   kind: page (the last part of an address, in lower case) or urn (what searches and lists of reposts call a person).
--   name: The page or the URN.
--   profile_id: The person in job changes; null where that is not known.
--   evidence: events (the person's events show the page); null where it is not known.
--   reason: Why it is not known: no event shows it, several people show it, or nothing says whose URN it is; null where it is.
with

shown as (
    select page as name, count(*) as people, min(profile_id) as profile_id
    from person_pages
    group by page
),

pages as (
    select name, people, profile_id from shown
    union all
    select others.name, 0, cast(null as string)
    from (select distinct page_part(profile_url) as name from signal_profiles) as others
    left join shown on shown.name = others.name
    where shown.name is null
),

urns as (
    select profile_url as name from people_found
    union
    select actor_urn from reposts where actor_urn is not null
)

select
    'page' as kind,
    name,
    case when people = 1 then profile_id end as profile_id,
    case when people = 1 then 'events' end as evidence,
    case people when 0 then 'no event shows it' when 1 then null else 'several people show it' end as reason
from pages
union all
select 'urn' as kind, name, cast(null as string) as profile_id, cast(null as string) as evidence, 'nothing says whose it is' as reason
from urns
