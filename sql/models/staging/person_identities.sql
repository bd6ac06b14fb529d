-- grain: One row per name by which a person is known: a public page, or what a search or a list calls them.
-- key: kind, name
-- tier: detail
-- kind: view
-- purpose: The person of each page or URN, and the evidence; rows without profile_id list the unknown ones.
-- columns:
--   kind: page (the last part of an address, in lower case) or urn (the name of a person in searches and lists of reposts).
--   name: The page or the URN.
--   profile_id: The person in job changes; null where unknown.
--   evidence: events (the person's events show the page); null where it is unknown.
--   reason: Why the person is unknown: no event shows the page, several people show it, or nothing says whose URN it is; null where the person is known.
with

shown as (
    select page as name, count(*) as people, min(profile_id) as profile_id
    from person_pages
    group by page
),

watched as (
    select page_part(subject) as name
    from answers
    where endpoint = 'signal-create' and outcome = 'found'
    union
    select page_part(json_text(item, '$.profile_url'))
    from (
        select json_list(body, '$.profiles') as items from answers where endpoint = 'signal-delivery'
        union all
        select json_list(body, '$.changes') from answers where endpoint = 'signal-delivery'
    ) as lists, lateral json_items(items)
),

pages as (
    select name, people, profile_id from shown
    union all
    select watched.name, 0, cast(null as string)
    from watched
    left join shown on shown.name = watched.name
    where shown.name is null and watched.name is not null
),

listed as (
    select json_text(item, '$.profile_url') as name
    from (select json_list(body, '$.results') as items from newest_answers where endpoint = 'people-search') as lists,
        lateral json_items(items)
    union
    select json_text(item, '$.actor.image.profile_urn')
    from (select json_list(body, '$.message.reposts') as items from newest_answers where endpoint = 'post-reposts') as lists,
        lateral json_items(items)
),

urns as (
    select name from listed where name is not null
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
