-- grain: One row per match of a watch-list entry with a person or organisation; one row with a null found_id where the entry matches none.
-- key: pipeline, watch_list, entry, kind, found_id
-- tier: detail
-- purpose: The people and organisations that watch-list entries match, and the entries that match none in the warehouse.
-- kind: view
-- note: The table is not published, for the reason given in watch_hits.
-- columns:
--   pipeline: The pipeline whose file names the watch-list.
--   watch_list: Name of the watch-list.
--   entry: Place of the entry in the list, from 1.
--   kind: The kind of name in the entry: profile_id, url, handle or name of a person, organization_id or company_url of an organisation.
--   listed_as: The text of the entry; for a company_url its slug.
--   changes: Changes that the list asks for, comma-separated; null for all.
--   levels: Levels that the list asks for, comma-separated; null for all.
--   functions: Fields of work that the list asks for, comma-separated; null for all.
--   sureness: How likely the entry is right where it matches only one, 0 to 1: an id 1, a page 0.95, a handle 0.9, a name 0.6.
--   found_id: profile_id or organization_id of a possible match; null where there is none.
with

entries as (
    select
        pipeline,
        watch_list,
        entry,
        kind,
        listed_as,
        changes,
        levels,
        functions,
        case
            when kind in ('url', 'handle', 'company_url') then page_name(listed_as)
            when kind = 'name' then plain_name(listed_as)
            else listed_as
        end as known_as,
        case kind when 'name' then 0.6 when 'handle' then 0.9 when 'url' then 0.95 when 'company_url' then 0.95 else 1.0 end
            as sureness
    from ops.watch_entries
),

-- Matches on everything that any event ever said of them.
found as (
    select entries.*, events.profile_id as found_id
    from entries
    inner join job_change_events as events on events.profile_id = entries.known_as
    where entries.kind = 'profile_id'
    union
    select entries.*, events.profile_id as found_id
    from entries
    inner join job_change_events as events on page_name(events.person_network_url) = entries.known_as
    where entries.kind = 'url'
    union
    select entries.*, events.profile_id as found_id
    from entries
    inner join job_change_events as events on page_name(events.person_handle) = entries.known_as
    where entries.kind = 'handle'
    union
    select entries.*, events.profile_id as found_id
    from entries
    inner join job_change_events as events on plain_name(events.person_full_name) = entries.known_as
    where entries.kind = 'name'
    union
    select entries.*, events.organization_id as found_id
    from entries
    inner join job_change_events as events on events.organization_id = entries.known_as
    where entries.kind = 'organization_id'
    union
    select entries.*, events.organization_id as found_id
    from entries
    inner join job_change_events as events on page_name(events.organization_slug) = entries.known_as
    where entries.kind = 'company_url'
)

select
    entries.pipeline,
    entries.watch_list,
    entries.entry,
    entries.kind,
    entries.listed_as,
    entries.changes,
    entries.levels,
    entries.functions,
    entries.sureness,
    found.found_id
from entries
left join found
    on
        found.pipeline = entries.pipeline
        and found.watch_list = entries.watch_list
        and found.entry = entries.entry
        and found.kind = entries.kind
