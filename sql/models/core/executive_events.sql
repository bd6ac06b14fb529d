-- grain: One row per change at the top: of a person into a seat, out of one, or from one to another.
-- key: event_key, change
-- incremental_by: profile_id
-- purpose: The joinings, leavings and changes of title to which executive_changes adds predecessors, successors and clusters.
-- note: This model is separate because its rows follow from one person's events; the added columns follow from the history of a
-- note: seat.
-- note: The seat of a title at the level cxo is its office (see titles); that of a vp or a director is level and function. Side
-- note: roles are not seats. A change of title to one that is not understood is left out rather than guessed.
-- values: change: arrived | departed | promoted | moved | stepped_down
-- columns:
--   event_key: event_key of the change in job_change_events.
--   change: arrived, departed, promoted, moved or stepped_down; see executive_changes.
--   organization_id: The service's stable id of the organisation.
--   profile_id: The service's stable id of the person.
--   stint_number: The stint in which the change happened.
--   changed_at: When the change took effect, UTC. Often known to the month only: then it is the first of that month.
--   month_start_on: First day of the month of changed_at, UTC.
--   precision: How well changed_at is known: day, month (then it is the first of the month), year (1 January, which may stand for the year), or unknown where the date sent is implausible: then it is the time of detection.
--   was_announced: Whether the change was detected before it took effect. It stays true afterwards.
--   person_full_name: The person's full name as written.
--   person_network_url: The newest known address of the person's public page, as sent; null when none is known.
--   organization_name: The organisation's name as written.
--   title: The new title as written; for a departure the one that was left.
--   level: Level of title.
--   function: Field of work of title; other where it names none, unknown where it is not understood.
--   seat: The seat that title names; null where it names none.
--   is_interim: Whether title is held for the time being.
--   previous_title: The title before the change; null when not known or not a change of title.
--   previous_level: Level of previous_title.
--   previous_seat: The seat that previous_title names; null where it names none.
--   previous_is_interim: Whether previous_title was held for the time being.
--   kept_seat: The seat that the person had before and keeps, because they also take another or an interim one, or come back from an interim one; null otherwise.
--   released_seat: The seat that the person had kept until now, and leaves with this change; null otherwise.
--   other_organization_id: The origin of an arrival or the destination of a departure, where linked (see moves); null otherwise.
--   other_organization_name: Name of that organisation as written.
--   detected_at: When the service saw the change, UTC.
--   first_seen_at: When the event was first received, UTC.
with

-- The seat that each title names.
seats as (
    select
        ladder,
        title,
        level_order,
        is_interim,
        coalesce(office like '%chairperson', false) as is_chair,
        coalesce(office, concat_ws(' ', level, function)) as seat
    from titles
    where level in ('director', 'vp', 'cxo') and not is_side_role
),

changes as (
    select
        event_key,
        'arrived' as change,
        organization_id,
        profile_id,
        stint_number,
        joined_at as changed_at,
        month_start_on,
        precision,
        was_announced,
        person_full_name,
        person_network_url,
        organization_name,
        title,
        level,
        function,
        is_primary,
        cast(null as string) as previous_title,
        cast(null as string) as previous_level,
        came_from_organization_id as other_organization_id,
        came_from_organization_name as other_organization_name,
        detected_at,
        first_seen_at
    from joiners
    where level in ('director', 'vp', 'cxo')
    union all
    select
        event_key,
        'departed' as change,
        organization_id,
        profile_id,
        stint_number,
        left_at as changed_at,
        month_start_on,
        precision,
        was_announced,
        person_full_name,
        person_network_url,
        organization_name,
        title,
        level,
        function,
        is_primary,
        cast(null as string) as previous_title,
        cast(null as string) as previous_level,
        went_to_organization_id as other_organization_id,
        went_to_organization_name as other_organization_name,
        detected_at,
        first_seen_at
    from leavers
    where level in ('director', 'vp', 'cxo') and not is_stepping_aside
    union all
    select
        leavers.event_key,
        'moved' as change,
        leavers.organization_id,
        leavers.profile_id,
        leavers.stint_number,
        leavers.left_at as changed_at,
        leavers.month_start_on,
        leavers.precision,
        leavers.was_announced,
        leavers.person_full_name,
        leavers.person_network_url,
        leavers.organization_name,
        leavers.next_title as title,
        coalesce(next_titles.level, 'unknown') as level,
        coalesce(next_titles.function, 'unknown') as function,
        false as is_primary,
        leavers.title as previous_title,
        leavers.level as previous_level,
        cast(null as string) as other_organization_id,
        cast(null as string) as other_organization_name,
        leavers.detected_at,
        leavers.first_seen_at
    from leavers
    left join organization_ladders as own on own.organization_id = leavers.organization_id
    left join titles as next_titles
        on next_titles.ladder = coalesce(own.ladder, 'standard') and next_titles.title = leavers.next_title
    where leavers.level in ('director', 'vp', 'cxo') and leavers.is_stepping_aside
    union all
    select
        event_key,
        case when label = 'promotion' then 'promoted' else 'moved' end as change,
        organization_id,
        profile_id,
        stint_number,
        changed_at,
        month_start_on,
        precision,
        was_announced,
        person_full_name,
        person_network_url,
        organization_name,
        title,
        level,
        function,
        is_primary,
        previous_title,
        previous_level,
        cast(null as string) as other_organization_id,
        cast(null as string) as other_organization_name,
        detected_at,
        first_seen_at
    from title_changes
    where
        not is_flip
        and (level in ('director', 'vp', 'cxo') or previous_level in ('director', 'vp', 'cxo'))
),

-- The seat each person came to, and the one they held before.
seated as (
    select
        changes.event_key,
        changes.change as told,
        case
            when held.seat is null then changes.change
            when came_to.seat is null or came_to.level_order < held.level_order then 'stepped_down'
            when came_to.is_chair and not held.is_chair then 'stepped_down'
            else changes.change
        end as change,
        changes.organization_id,
        changes.profile_id,
        changes.stint_number,
        changes.changed_at,
        changes.month_start_on,
        changes.precision,
        changes.was_announced,
        changes.person_full_name,
        changes.person_network_url,
        changes.organization_name,
        changes.title,
        changes.level,
        changes.function,
        came_to.seat,
        came_to.is_interim,
        changes.previous_title,
        changes.previous_level,
        held.seat as previous_seat,
        held.is_interim as previous_is_interim,
        changes.other_organization_id,
        changes.other_organization_name,
        changes.detected_at,
        changes.first_seen_at
    from changes
    left join organization_ladders as ladders on ladders.organization_id = changes.organization_id
    left join seats as came_to on came_to.ladder = coalesce(ladders.ladder, 'standard') and came_to.title = changes.title
    left join seats as held on held.ladder = coalesce(ladders.ladder, 'standard') and held.title = changes.previous_title
    where
        (came_to.seat is not null or (held.seat is not null and (changes.level <> 'unknown' or not changes.is_primary)))
        and (came_to.seat is distinct from held.seat or came_to.is_interim <> held.is_interim)
),

-- A person who takes a second office, or holds one for the time being and comes back, keeps their own.
keeping as (
    select
        event_key,
        told,
        change,
        case
            when
                told in ('promoted', 'moved')
                and previous_seat <> seat
                and (
                    (is_interim and lead(previous_seat) over stint = seat and lead(seat) over stint = previous_seat)
                    or ' ' || lower(title) like '%& ' || lower(previous_title)
                    or ' ' || lower(title) like '% and ' || lower(previous_title)
                    or ' ' || lower(title) like '%, ' || lower(previous_title)
                    or ' ' || lower(title) like '%/ ' || lower(previous_title)
                    or lower(title) like lower(previous_title) || ' &%'
                    or lower(title) like lower(previous_title) || ' and %'
                    or lower(title) like lower(previous_title) || ', %'
                    or lower(title) like lower(previous_title) || ' /%'
                )
                then previous_seat
        end as kept_seat,
        lag(seat) over stint as seat_before
    from seated
    window stint as (
        partition by profile_id, organization_id, stint_number
        order by changed_at, case when told = 'arrived' then 0 else 1 end, event_key
    )
),

kept as (
    select
        seated.event_key,
        seated.told,
        keeping.kept_seat,
        lag(keeping.kept_seat) over stint as kept_before,
        coalesce(
            lag(keeping.kept_seat) over stint = seated.seat and keeping.seat_before = seated.previous_seat, false
        ) as is_back
    from seated
    inner join keeping on keeping.event_key = seated.event_key and keeping.told = seated.told
    window stint as (
        partition by seated.profile_id, seated.organization_id, seated.stint_number
        order by seated.changed_at, case when seated.told = 'arrived' then 0 else 1 end, seated.event_key
    )
)

select
    seated.event_key,
    case when kept.kept_seat is not null or kept.is_back then seated.told else seated.change end as change,
    seated.organization_id,
    seated.profile_id,
    seated.stint_number,
    seated.changed_at,
    seated.month_start_on,
    seated.precision,
    seated.was_announced,
    seated.person_full_name,
    seated.person_network_url,
    seated.organization_name,
    seated.title,
    seated.level,
    seated.function,
    case when not kept.is_back then seated.seat end as seat,
    case when not kept.is_back then seated.is_interim end as is_interim,
    seated.previous_title,
    seated.previous_level,
    case when kept.kept_seat is null then seated.previous_seat end as previous_seat,
    case when kept.kept_seat is null then seated.previous_is_interim end as previous_is_interim,
    case when kept.is_back then seated.seat else kept.kept_seat end as kept_seat,
    -- A change that names the kept seat itself, as the new or the previous one, does not release it as well.
    case
        when
            not kept.is_back
            and kept.kept_before is distinct from kept.kept_seat
            and kept.kept_before is distinct from seated.seat
            and kept.kept_before is distinct from seated.previous_seat
            then kept.kept_before
    end as released_seat,
    seated.other_organization_id,
    seated.other_organization_name,
    seated.detected_at,
    seated.first_seen_at
from seated
inner join kept on kept.event_key = seated.event_key and kept.told = seated.told
