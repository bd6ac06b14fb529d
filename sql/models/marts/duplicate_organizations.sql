-- grain: One row per organisation that has several ids, or may have.
-- key: organization_id
-- tier: detail
-- values: evidence: page and name | page
-- purpose: Several ids of one organisation; to count them as one, list them in config/organization-groups.yaml (alias).
-- note: A match is certain where both ids show one page or slug under one name; legal forms, case, accents and punctuation do
-- note: not count. It is uncertain where exactly two show the page at the same time, under different names: it can be a rename,
-- note: or a slug that both have by chance. A page that one id shows only after the other is not a match: after a rename,
-- note: another organisation can take the page.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   main_organization_id: The id to keep for the organisation: the one with the most events; on a tie, the first in alphabetical order.
--   is_main: True in the row of the id to keep.
--   organizations: How many ids the organisation has.
--   evidence: Why the ids are one organisation: page and name (certain), or page alone (to be decided).
--   is_certain: Whether the ids certainly are one organisation.
--   name: A name of the organisation as written; of several, the first in alphabetical order.
--   page: The page that the ids share, the last part of its address in lower case; of several, the first in alphabetical order.
with

shown as (
    select
        organization_id,
        coalesce(organization_network_url, organization_slug) as address,
        organization_name,
        min(detected_at) as shown_from_at,
        max(detected_at) as shown_until_at
    from job_change_events
    where organization_network_url is not null or organization_slug is not null
    group by organization_id, coalesce(organization_network_url, organization_slug), organization_name
),

spelt as (
    select
        organization_id,
        page_part(address) as page,
        ' ' || plain_name(organization_name) || ' ' as spelling,
        shown_from_at,
        shown_until_at
    from shown
),

bare as (
    select
        organization_id,
        page,
        nullif(
            trim(
                replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
                    spelling,
                    ' inc ', ' '), ' llc ', ' '), ' ltd ', ' '), ' limited ', ' '), ' gmbh ', ' '), ' corporation ', ' '),
                    ' corp ', ' '), ' company ', ' '), ' co ', ' '), ' ag ', ' ')
            ),
            ''
        ) as name,
        shown_from_at,
        shown_until_at
    from spelt
    where page <> ''
),

several as (
    select page, count(distinct organization_id) as organizations
    from bare
    group by page
    having count(distinct organization_id) > 1
),

shared as (
    select
        bare.organization_id,
        bare.page,
        bare.name,
        several.organizations,
        min(bare.shown_from_at) as shown_from_at,
        max(bare.shown_until_at) as shown_until_at
    from bare
    inner join several on several.page = bare.page
    group by bare.organization_id, bare.page, bare.name, several.organizations
),

links as (
    select
        one.organization_id,
        other.organization_id as other_organization_id,
        min(one.page) as page,
        max(case when one.name is null or other.name is null or one.name = other.name then 1 else 0 end) as is_certain
    from shared as one
    inner join shared as other on other.page = one.page
    where
        one.organization_id <> other.organization_id
        and (
            one.name is null
            or other.name is null
            or one.name = other.name
            or (
                one.organizations = 2
                and one.shown_from_at <= other.shown_until_at
                and other.shown_from_at <= one.shown_until_at
            )
        )
    group by one.organization_id, other.organization_id
),

-- Certain matches stay separate from uncertain ones.
judged as (
    select
        links.organization_id,
        links.other_organization_id,
        links.page,
        links.is_certain
    from links
    inner join (
        select organization_id, max(is_certain) as is_certain
        from links
        group by organization_id
    ) as own
        on own.organization_id = links.organization_id and own.is_certain = links.is_certain
    inner join (
        select organization_id, max(is_certain) as is_certain
        from links
        group by organization_id
    ) as others
        on others.organization_id = links.other_organization_id and others.is_certain = links.is_certain
),

nearest as (
    select
        organization_id,
        least(organization_id, min(other_organization_id)) as first_organization_id,
        min(page) as page,
        max(is_certain) as is_certain
    from judged
    group by organization_id
),

-- An organisation can share one page with one and another page with another.
further as (
    select
        judged.organization_id,
        least(min(own.first_organization_id), min(others.first_organization_id)) as first_organization_id
    from judged
    inner join nearest as own on own.organization_id = judged.organization_id
    inner join nearest as others on others.organization_id = judged.other_organization_id
    group by judged.organization_id
),

merged as (
    select
        further.organization_id,
        coalesce(beyond.first_organization_id, further.first_organization_id) as first_organization_id
    from further
    left join further as beyond on beyond.organization_id = further.first_organization_id
),

described as (
    select
        merged.organization_id,
        merged.first_organization_id,
        min(events.organization_name) as name,
        count(*) as events
    from merged
    inner join job_change_events as events on events.organization_id = merged.organization_id
    group by merged.organization_id, merged.first_organization_id
),

chosen as (
    select
        organization_id,
        first_value(organization_id) over (
            partition by first_organization_id order by events desc, organization_id
        ) as main_organization_id,
        count(*) over (partition by first_organization_id) as organizations,
        name
    from described
)

select
    chosen.organization_id,
    chosen.main_organization_id,
    chosen.organization_id = chosen.main_organization_id as is_main,
    cast(chosen.organizations as integer) as organizations,
    case when nearest.is_certain = 1 then 'page and name' else 'page' end as evidence,
    nearest.is_certain = 1 as is_certain,
    chosen.name,
    nearest.page
from chosen
inner join nearest on nearest.organization_id = chosen.organization_id
