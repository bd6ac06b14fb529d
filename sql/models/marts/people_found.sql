-- grain: One row per search and person that it found, now or before.
-- key: lookup_key, profile_url
-- endpoint: people-search
-- purpose: People that a search found, the source for watch-lists of people.
-- note: profile_url is the service's name for a person in searches and cannot be opened as a page. The service does not say who
-- note: that is in job changes, and this table does not guess.
-- columns:
--   lookup_key: The key of the search: equal searches have the same key.
--   subject: The search, in words.
--   profile_url: The service's name for the person.
--   position: The person's position in the newest answer, from 1; null once the person is missing there.
--   full_name: Name, as written.
--   first_name: Given name, as written.
--   last_name: Family name, as written.
--   title: Title, as written.
--   company_name: Name of the company, as written.
--   company_id: The network's own id of the company, a number as text.
--   organization_id: The organisation in job changes, by the profile of that company; null where none is known.
--   location: Region, as written.
--   is_current: Whether the role is the present one; null when the source does not say.
--   started_on: First day of the month in which the role began; null when the source does not say.
--   started_year: The year in which the role began; null when the source does not say.
--   started_month: The month in which the role began, 1 to 12; null when the source does not say.
--   tenure_years: Whole years in the role, as the service counts them; null when the source does not say.
--   tenure_months: Further months in the role, as the service counts them; null when the source does not say.
--   summary: The person's description of themselves; null when the source does not say.
--   is_open_link: Whether all members may write to the person; null when the source does not say.
--   first_received_at: When the search first found the person, UTC.
--   received_at: When the search last found the person, UTC.
with

found as (
    select
        lists.lookup_key,
        lists.subject,
        json_text(item, '$.profile_url') as profile_url,
        lists.request_id,
        lists.page,
        place,
        item,
        lists.received_at
    from (
        select request_id, lookup_key, subject, page, received_at, json_list(body, '$.results') as items
        from answers
        where endpoint = 'people-search' and outcome = 'found'
    ) as lists, lateral json_items(items)
),

sighted as (
    select
        found.lookup_key,
        found.subject,
        found.profile_url,
        found.page,
        found.place,
        found.item,
        found.received_at,
        newest_answers.request_id is not null as is_newest,
        min(found.received_at) over (partition by found.lookup_key, found.profile_url) as first_received_at,
        row_number() over (
            partition by found.lookup_key, found.profile_url
            order by
                case when newest_answers.request_id is null then 1 else 0 end,
                found.received_at desc, found.page, found.place, found.request_id
        ) as again
    from found
    left join newest_answers on newest_answers.request_id = found.request_id
    where found.profile_url is not null
),

companies as (
    select profiles.company_id, min(known.organization_id) as organization_id
    from company_answers as profiles
    inner join company_organizations as known on known.company = profiles.company
    where profiles.answer = profiles.answers and profiles.company_id is not null
    group by profiles.company_id
    having count(distinct known.organization_id) = 1
)

select
    lookup_key,
    subject,
    profile_url,
    case
        when is_newest
            then cast(
                row_number() over (partition by lookup_key, is_newest order by page, place, received_at, profile_url) as integer
            )
    end as position,
    json_text(item, '$.full_name') as full_name,
    json_text(item, '$.first_name') as first_name,
    json_text(item, '$.last_name') as last_name,
    json_text(item, '$.title') as title,
    json_text(item, '$.company') as company_name,
    json_text(item, '$.company_id') as company_id,
    companies.organization_id,
    json_text(item, '$.location') as location,
    json_text(item, '$.is_current') = 'true' as is_current,
    try_cast(json_text(item, '$.started_on.year') || '-' || json_text(item, '$.started_on.month') || '-1' as date) as started_on,
    try_cast(json_text(item, '$.started_on.year') as integer) as started_year,
    try_cast(json_text(item, '$.started_on.month') as integer) as started_month,
    try_cast(json_text(item, '$.tenure_years') as integer) as tenure_years,
    try_cast(json_text(item, '$.tenure_months') as integer) as tenure_months,
    json_text(item, '$.summary') as summary,
    json_text(item, '$.open_link') = 'true' as is_open_link,
    first_received_at,
    received_at
from sighted
left join companies on companies.company_id = json_text(sighted.item, '$.company_id')
where again = 1
