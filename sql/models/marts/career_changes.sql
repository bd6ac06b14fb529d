-- grain: One row per change in a person's career at an organisation.
-- key: event_key, change
-- tier: detail
-- purpose: One feed of all joiners, leavers and title_changes. For new changes, filter on first_seen_at.
-- incremental_by: profile_id
-- note: A move is two rows, one at each organisation; other_organization_id links them. Flips (titles that were taken back) are
-- note: left out.
-- partition: year of changed_at
-- columns:
--   event_key: event_key of the event that reports the change.
--   change: joined, left, promoted, demoted, moved (another role or field at about the same level), retitled (the same job in other words), title_changed (the titles do not say which, or one side role followed another), stepped_down (from a main job to a side role there: a leaving of the job), joined_side_role or left_side_role (board members, advisers).
--   profile_id: The service's stable id of the person.
--   organization_id: The organisation where the change happened.
--   person_full_name: The person's name as written.
--   person_network_url: The newest known address of the person's public page, as sent; null when none is known.
--   organization_name: The organisation's name as written.
--   changed_on: The day on which the change took effect, UTC; precision says how well that is known.
--   changed_at: The same day as an instant, as sent.
--   precision: day; month where only that is known, then changed_on is its first day; year (1 January, which may stand for the year).
--   previous_title: The previous title: for a joining, the title of the job left elsewhere; for a leaving, the title that was left; null when not known.
--   previous_level: Level of previous_title; null where there is none.
--   previous_function: Field of work of previous_title; null where there is none.
--   title: The new title: for a leaving, the title of the job joined elsewhere, or the one that a change of title led to; null when not known.
--   level: Level of title: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown; null where there is none.
--   function: Field of work of title; other where it names none, unknown where it is not understood; null where there is none.
--   other_organization_id: The organisation that the person came from or went to; null when not known, and for changes inside an organisation.
--   other_organization_name: The name of that organisation.
--   direction: up, down or sideways by the two levels, or unknown; null for a joining or leaving whose other half is not known.
--   is_boomerang: True where a person joins an organisation that they had left before.
--   was_announced: True where the change was detected before it took effect. It stays true afterwards.
--   detected_at: When the service saw the change, UTC.
--   known_at: When the service first knew of the change, UTC, whatever corrections followed.
--   first_seen_at: When the change was first received here, UTC.
select
    joiners.event_key,
    case when joiners.is_primary then 'joined' else 'joined_side_role' end as change,
    joiners.profile_id,
    joiners.organization_id,
    joiners.person_full_name,
    joiners.person_network_url,
    joiners.organization_name,
    joiners.joined_on as changed_on,
    joiners.joined_at as changed_at,
    joiners.precision,
    joiners.came_from_title as previous_title,
    case when joiners.came_from_title is not null then joiners.came_from_level end as previous_level,
    case when joiners.came_from_title is not null then moves.from_function end as previous_function,
    joiners.title,
    case when joiners.title is not null then joiners.level end as level,
    case when joiners.title is not null then joiners.function end as function,
    joiners.came_from_organization_id as other_organization_id,
    joiners.came_from_organization_name as other_organization_name,
    joiners.direction,
    joiners.is_boomerang,
    joiners.was_announced,
    joiners.detected_at,
    joiners.known_at,
    joiners.first_seen_at
from joiners
left join moves on moves.joined_event_key = joiners.event_key
-- The leaving of the job before it reports the change of title.
where joiners.is_primary or joiners.previous_title is null
union all
select
    leavers.event_key,
    case when leavers.is_stepping_aside then 'stepped_down' when leavers.is_primary then 'left' else 'left_side_role' end as change,
    leavers.profile_id,
    leavers.organization_id,
    leavers.person_full_name,
    leavers.person_network_url,
    leavers.organization_name,
    leavers.left_on as changed_on,
    leavers.left_at as changed_at,
    leavers.precision,
    leavers.title as previous_title,
    case when leavers.title is not null then leavers.level end as previous_level,
    case when leavers.title is not null then leavers.function end as previous_function,
    coalesce(leavers.next_title, leavers.went_to_title) as title,
    case
        when leavers.next_title is not null then coalesce(next_titles.level, 'unknown')
        when leavers.went_to_title is not null then leavers.went_to_level
    end as level,
    case
        when leavers.next_title is not null then coalesce(next_titles.function, 'unknown')
        when leavers.went_to_title is not null then moves.to_function
    end as function,
    leavers.went_to_organization_id as other_organization_id,
    leavers.went_to_organization_name as other_organization_name,
    leavers.direction,
    false as is_boomerang,
    leavers.was_announced,
    leavers.detected_at,
    leavers.known_at,
    leavers.first_seen_at
from leavers
left join moves on moves.left_event_key = leavers.event_key
left join dated_events as events on events.event_key = leavers.event_key
left join titles as next_titles on next_titles.ladder = events.ladder and next_titles.title = leavers.next_title
where leavers.is_primary or leavers.next_title is null
union all
select
    event_key,
    case
        when not is_primary then 'title_changed'
        when label = 'promotion' then 'promoted'
        when label = 'demotion' then 'demoted'
        when label = 'lateral' then 'moved'
        when label = 'retitle' then 'retitled'
        else 'title_changed'
    end as change,
    profile_id,
    organization_id,
    person_full_name,
    person_network_url,
    organization_name,
    changed_on,
    changed_at,
    precision,
    previous_title,
    case when previous_title is not null then previous_level end as previous_level,
    case when previous_title is not null then previous_function end as previous_function,
    title,
    case when title is not null then level end as level,
    case when title is not null then function end as function,
    cast(null as string) as other_organization_id,
    cast(null as string) as other_organization_name,
    case label when 'promotion' then 'up' when 'demotion' then 'down' when 'unclassified' then 'unknown' else 'sideways' end
        as direction,
    false as is_boomerang,
    was_announced,
    detected_at,
    known_at,
    first_seen_at
from title_changes
where not is_flip
