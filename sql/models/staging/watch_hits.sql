-- grain: One row per watch-list and change that it asks for, with the most certain of the entries that name the person or organisation.
-- key: pipeline, watch_list, event_key, change
-- purpose: The changes of the people and organisations on watch-lists, and how sure each match is. For new changes, filter on first_seen_at.
-- kind: view
-- note: Only the most certain match of an entry counts. The table is not published: a snapshot would show its readers whom a
-- note: pipeline watches. It is a view, because deciding that a name means one person takes all people: with a million events,
-- note: handles, pages or names take one to two seconds of CPU, ids half a second, and no list at all nothing.
-- columns:
--   pipeline: The pipeline whose file names the watch-list.
--   watch_list: Name of the watch-list.
--   entry: Place of the entry in the list, from 1.
--   listed_as: The text of the entry; for a company_url its slug.
--   matched_by: The kind of match: profile_id, url, handle or name of a person, organization_id or company_url of an organisation.
--   confidence: How likely the entry means this person or organisation, 0 to 1: an id 1, a page 0.95, a handle 0.9, a name 0.6, divided by candidates.
--   candidates: The number of people, or organisations, the entry may mean: all of them are shown.
--   is_ambiguous: True where the entry may mean several.
--   change: What happened; see career_changes.
--   event_key: event_key of the event that reports the change.
--   profile_id: The service's stable id of the person.
--   person_full_name: The person's name as written.
--   person_network_url: The newest known address of the person's public page, as sent; null when none is known.
--   organization_id: The organisation where the change happened.
--   organization_name: The organisation's name as written.
--   changed_on: The day on which the change took effect, UTC; precision says how well that is known.
--   precision: day, month or year; see career_changes.
--   previous_title: The previous title; null when not known.
--   previous_level: Level of previous_title; null where there is none.
--   previous_function: Field of work of previous_title; null where there is none.
--   title: The new title; null when not known.
--   level: Level of title, or unknown; null where there is none.
--   function: Field of work of title; null where there is none.
--   other_organization_id: The organisation that the person came from or went to; null when not known, and for changes inside an organisation.
--   other_organization_name: The name of that organisation.
--   was_announced: True where the change was detected before it took effect. It stays true afterwards.
--   detected_at: When the service saw the change, UTC.
--   first_seen_at: When the change was first received here, UTC.
with

counted as (
    select
        matched.*,
        kind in ('organization_id', 'company_url') as is_organization,
        max(sureness) over (partition by pipeline, watch_list, entry) as surest,
        count(*) over (partition by pipeline, watch_list, entry, kind) as candidates
    from watch_matches as matched
    where found_id is not null
),

hits as (
    select counted.*, career.event_key, career.change
    from counted
    inner join career_changes as career on career.profile_id = counted.found_id
    where not counted.is_organization and counted.sureness = counted.surest
    union all
    select counted.*, career.event_key, career.change
    from counted
    inner join career_changes as career on career.organization_id = counted.found_id
    where counted.is_organization and counted.sureness = counted.surest
),

ranked as (
    select
        hits.*,
        row_number() over (
            partition by pipeline, watch_list, event_key, change
            order by sureness / candidates desc, entry
        ) as nth
    from hits
)

select
    ranked.pipeline,
    ranked.watch_list,
    ranked.entry,
    ranked.listed_as,
    ranked.kind as matched_by,
    round(cast(ranked.sureness as double) / ranked.candidates, 2) as confidence,
    cast(ranked.candidates as integer) as candidates,
    ranked.candidates > 1 as is_ambiguous,
    career.change,
    career.event_key,
    career.profile_id,
    career.person_full_name,
    career.person_network_url,
    career.organization_id,
    career.organization_name,
    career.changed_on,
    career.precision,
    career.previous_title,
    career.previous_level,
    career.previous_function,
    career.title,
    career.level,
    career.function,
    career.other_organization_id,
    career.other_organization_name,
    career.was_announced,
    career.detected_at,
    career.first_seen_at
from ranked
inner join career_changes as career on career.event_key = ranked.event_key and career.change = ranked.change
where
    ranked.nth = 1
    -- An unknown value matches no condition.
    and (ranked.changes is null or contains(ranked.changes, ',' || career.change || ','))
    and (
        ranked.levels is null
        or contains(ranked.levels, ',' || career.level || ',')
        or contains(ranked.levels, ',' || career.previous_level || ',')
    )
    and (
        ranked.functions is null
        or contains(ranked.functions, ',' || career.function || ',')
        or contains(ranked.functions, ',' || career.previous_function || ',')
    )
