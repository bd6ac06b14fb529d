-- grain: One row per person's time in a seat at the top.
-- key: event_key, seat, is_interim
-- tier: detail
-- incremental_by: profile_id
-- purpose: Who held each seat at the top of an organisation, from when until when, and how it began and ended.
-- note: A seat is an office at the level cxo, or level and function of vice presidents and directors; several people can hold
-- note: one at a time. A change from interim to permanent in one seat ends one time and begins another. A change to a title
-- note: that is not understood ends nothing. The end of an interim holder is often not seen.
-- values: began_by: arrived | promoted | moved | stepped_down (or null)
-- values: ended_by: departed | promoted | moved | stepped_down (or null)
-- references: event_key -> job_change_events.event_key
-- columns:
--   event_key: event_key of the change by which the person's time in the seat began; where that was not seen, of the change by which it ended.
--   organization_id: The service's stable id of the organisation.
--   seat: The seat: chief executive officer, chief financial officer, …; below cxo, level and function, such as vp sales.
--   is_interim: Whether the seat was held for the time being: interim, acting.
--   profile_id: The service's stable id of the person.
--   stint_number: The person's stint at the organisation that contains the time in the seat.
--   person_full_name: The person's full name as written.
--   organization_name: The organisation's name as written.
--   title: The title as written.
--   held_from_at: When the time in the seat began, UTC; null when not seen.
--   held_until_at: When the time in the seat ended, UTC; null when not seen.
--   began_by: arrived, promoted, moved or stepped_down, as in executive_changes; null when not seen.
--   ended_by: departed, promoted, moved or stepped_down, as in executive_changes; moved also where an arrival in another seat ends a seat that the person had kept; null when not seen.
--   began_event_key: event_key of the change by which the time in the seat began; null when not seen.
--   ended_event_key: event_key of the change by which the time in the seat ended; null when not seen.
--   is_vacated: Whether the person left the seat, rather than going from interim to permanent in it; null when no end was seen.
--   is_current: Whether the person holds the seat on the day of the data (core.as_of): no end, no later change at the top and no leaving until then; an announced change does not count yet.
with

-- Each start and each end of a person's time in a seat.
sides as (
    select
        event_key,
        change,
        organization_id,
        profile_id,
        stint_number,
        changed_at,
        person_full_name,
        organization_name,
        title,
        seat,
        is_interim,
        0 as ends,
        cast(null as string) as ended_by,
        kept_seat,
        cast(null as boolean) as is_vacated
    from executive_events
    where change <> 'departed' and seat is not null
    union all
    select
        event_key,
        change,
        organization_id,
        profile_id,
        stint_number,
        changed_at,
        person_full_name,
        organization_name,
        case when change = 'departed' then title else previous_title end as title,
        case when change = 'departed' then seat else previous_seat end as seat,
        case when change = 'departed' then is_interim else previous_is_interim end as is_interim,
        1 as ends,
        change as ended_by,
        kept_seat,
        change = 'departed' or seat is distinct from previous_seat as is_vacated
    from executive_events
    where change = 'departed' or previous_seat is not null
    union all
    -- A seat that the person kept alongside another one until now.
    select
        event_key,
        change,
        organization_id,
        profile_id,
        stint_number,
        changed_at,
        person_full_name,
        organization_name,
        case when change = 'departed' then title else previous_title end as title,
        released_seat as seat,
        false as is_interim,
        1 as ends,
        case when change = 'arrived' then 'moved' else change end as ended_by,
        kept_seat,
        true as is_vacated
    from executive_events
    where released_seat is not null
),

neighbours as (
    select
        event_key,
        change,
        organization_id,
        profile_id,
        stint_number,
        changed_at,
        person_full_name,
        organization_name,
        title,
        seat,
        is_interim,
        ends,
        ended_by,
        is_vacated,
        coalesce(lag(ends) over sequence, 1) as ends_before,
        coalesce(lead(ends) over sequence, 0) as next_ends,
        lead(event_key) over sequence as next_event_key,
        lead(ended_by) over sequence as next_ended_by,
        lead(changed_at) over sequence as next_at,
        lead(is_vacated) over sequence as next_is_vacated,
        coalesce(max(case when kept_seat is null and utc_date(changed_at) <= as_of.as_of_on then 1 else 0 end) over later, 0) = 0
            as is_last
    from sides
    cross join as_of
    window
        sequence as (
            partition by profile_id, organization_id, stint_number, seat, is_interim order by changed_at, ends, event_key
        ),
        later as (
            partition by profile_id, organization_id, stint_number
            order by changed_at, case when change = 'arrived' then 0 else 1 end, event_key, ends desc
            rows between 1 following and unbounded following
        )
)

select
    sides.event_key,
    sides.organization_id,
    sides.seat,
    sides.is_interim,
    sides.profile_id,
    sides.stint_number,
    sides.person_full_name,
    sides.organization_name,
    sides.title,
    case when sides.ends = 0 then sides.changed_at end as held_from_at,
    case when sides.ends = 1 then sides.changed_at when sides.next_ends = 1 then sides.next_at end as held_until_at,
    case when sides.ends = 0 then sides.change end as began_by,
    case when sides.ends = 1 then sides.ended_by when sides.next_ends = 1 then sides.next_ended_by end as ended_by,
    case when sides.ends = 0 then sides.event_key end as began_event_key,
    case when sides.ends = 1 then sides.event_key when sides.next_ends = 1 then sides.next_event_key end as ended_event_key,
    case when sides.ends = 1 then sides.is_vacated when sides.next_ends = 1 then sides.next_is_vacated end as is_vacated,
    case
        when sides.ends = 1 then utc_date(sides.changed_at) > as_of.as_of_on
        when utc_date(sides.changed_at) > as_of.as_of_on then false
        when sides.next_ends = 1 then utc_date(sides.next_at) > as_of.as_of_on
        else sides.is_last
    end
    and coalesce(utc_date(stints.joined_at) <= as_of.as_of_on, true)
    and (stints.is_open or coalesce(utc_date(stints.left_at) > as_of.as_of_on, false))
    and coalesce(utc_date(uncertain.uncertain_from_at) > as_of.as_of_on, true) as is_current
from neighbours as sides
cross join as_of
inner join stints
    on stints.profile_id = sides.profile_id
    and stints.organization_id = sides.organization_id
    and stints.stint_number = sides.stint_number
left join uncertain_stints as uncertain
    on uncertain.profile_id = sides.profile_id
    and uncertain.organization_id = sides.organization_id
    and uncertain.stint_number = sides.stint_number
where sides.ends = 0 or sides.ends_before = 1
