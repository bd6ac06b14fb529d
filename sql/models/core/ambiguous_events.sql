-- grain: One row per event of a person at an organisation where it takes rules to say what is a stint.
-- key: event_key
-- purpose: Places the events of those who joined or left an organisation more than once in their stints there.
-- incremental_by: profile_id
-- note: Also where a leaving is not dated after the joining. Every other joining is an arrival, every other leaving a
-- note: departure, and all is stint 1: stint_events says that of the events that are not here.
-- note: The rules by which joined and left events become stints:
-- note: 1. A left event and a joined one at most 31 days later are an internal move, or a leaving that was taken back: the
-- note:    stint goes on. So are a joined event of somebody who was there and a left one at most 31 days later (the new role
-- note:    was seen before the end of the old one), unless the left event names the new role and not the old one.
-- note: 2. A joined event after a joined one, or left after left, at most 62 days apart and with the same title is the same
-- note:    fact said again: of these the one detected last counts. Further apart, or with another title, they are roles that
-- note:    overlap: the first joining and the last leaving count.
-- note: 3. Of joined and left at one instant, left comes first for somebody who was there (the last boundary before that
-- note:    stands alone is joined), else joined comes first. With nothing before, somebody who leaves later without joining
-- note:    again was there, too; else the one detected first comes first.
-- note: The order in which events were loaded never matters.
-- values: event_type: joined | left | title_change
-- values: part: arrival | departure | interruption | repeat | title_change
-- references: event_key -> job_change_events.event_key
-- columns:
--   event_key: Stable hash of the event's natural key; unique.
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   stint_number: The stint the event belongs to: 1 for the person's first at the organisation, then 2, 3, …
--   part: What the event is to the stint: arrival (begins it), departure (ends it), interruption (left or joined inside it: no leaving), repeat (said before, or again later), title_change.
--   partner_event_key: For an interruption, the event_key of the other of the two events; else null.
--   partner_changed_at: changed_at of that other event; null where there is none.
--   event_type: joined, left or title_change.
--   changed_at: When the change took effect, UTC. Often known to the month only: then the first of that month.
--   detected_at: When the service saw the change, UTC.
--   detection_lag_days: Whole days between the change and its detection, as sent.
--   first_seen_at: When the event was first received, UTC.
--   person_full_name: The person's full name as written.
--   organization_name: The organisation's name as written.
--   ladder: The ladder by which the organisation's titles are read: standard, or its own.
--   title: The title after the change as written; for left, the title that was left.
--   previous_title: The title before the change as written.
with

-- All but a few per cent of the pairs of person and organisation have one joining at most, and one leaving after it at
-- most. There is nothing to sort out for them, so only the others are put in order here.
ambiguous_pairs as (
    select profile_id, organization_id
    from job_change_events
    where event_type <> 'title_change'
    group by profile_id, organization_id
    having
        count(case when event_type = 'joined' then 1 end) > 1
        or count(case when event_type = 'left' then 1 end) > 1
        or min(case when event_type = 'left' then changed_at end) <= max(case when event_type = 'joined' then changed_at end)
),

ambiguous as (
    select
        events.event_key,
        events.profile_id,
        events.organization_id,
        events.event_type,
        events.changed_at,
        events.detected_at,
        events.detection_lag_days,
        events.first_seen_at,
        events.person_full_name,
        events.organization_name,
        events.ladder,
        events.title,
        events.previous_title
    from dated_events as events
    inner join ambiguous_pairs
        on ambiguous_pairs.profile_id = events.profile_id
        and ambiguous_pairs.organization_id = events.organization_id
),

boundaries as (
    select
        event_key,
        profile_id,
        organization_id,
        event_type,
        changed_at,
        detected_at,
        title,
        row_number() over timeline as place,
        coalesce(lag(changed_at) over timeline = changed_at, false)
        or coalesce(lead(changed_at) over timeline = changed_at, false) as shares_instant
    from ambiguous
    where event_type <> 'title_change'
    window timeline as (
        partition by profile_id, organization_id order by changed_at, detected_at, event_type, event_key
    )
),

-- What the nearest boundaries are that stand alone, as place * 2, and 1 more for joined: so one number says which of them
-- is the nearest and, by being odd, that it is a joining.
surroundings as (
    select
        event_key,
        profile_id,
        organization_id,
        event_type,
        changed_at,
        detected_at,
        title,
        place,
        shares_instant,
        max(case when not shares_instant then place * 2 + case when event_type = 'joined' then 1 else 0 end end) over (
            partition by profile_id, organization_id order by place
            rows between unbounded preceding and current row
        ) as certain_before,
        min(case when not shares_instant then place * 2 + case when event_type = 'joined' then 1 else 0 end end) over (
            partition by profile_id, organization_id order by place
            rows between current row and unbounded following
        ) as certain_after
    from boundaries
),

ordered as (
    select
        event_key,
        profile_id,
        organization_id,
        event_type,
        changed_at,
        detected_at,
        title,
        shares_instant,
        case
            when not shares_instant then 0
            when mod(certain_before, 2) = 1 or (certain_before is null and mod(certain_after, 2) = 0)
                then case when event_type = 'left' then 0 else 1 end
            when mod(certain_before, 2) = 0 then case when event_type = 'joined' then 0 else 1 end
            else place
        end as order_in_instant
    from surroundings
),

compared as (
    select
        event_key,
        profile_id,
        organization_id,
        event_type,
        changed_at,
        detected_at,
        title,
        shares_instant,
        order_in_instant,
        row_number() over sequence as position,
        coalesce(
            lag(event_type) over sequence = event_type
            and days_between(lag(changed_at) over sequence, changed_at) <= 62
            and lag(title) over sequence is not distinct from title,
            false
        ) as is_said_again
    from ordered
    window sequence as (partition by profile_id, organization_id order by changed_at, order_in_instant)
),

facts as (
    select
        event_key,
        profile_id,
        organization_id,
        event_type,
        changed_at,
        detected_at,
        title,
        shares_instant,
        order_in_instant,
        is_said_again,
        sum(case when is_said_again then 0 else 1 end) over (
            partition by profile_id, organization_id order by position
            rows between unbounded preceding and current row
        ) as fact
    from compared
),

sayings as (
    select
        event_key,
        profile_id,
        organization_id,
        event_type,
        changed_at,
        title,
        fact,
        row_number() over (
            partition by profile_id, organization_id, fact order by detected_at desc, changed_at desc, event_key desc
        ) as recency
    from facts
),

neighbours as (
    select
        event_key,
        profile_id,
        organization_id,
        event_type,
        changed_at,
        title,
        fact,
        lag(event_key) over sequence as before_key,
        lag(event_type) over sequence as before_type,
        lag(changed_at) over sequence as before_at,
        lag(title) over sequence as before_title,
        lag(event_type, 2) over sequence as earlier_type,
        lag(title, 2) over sequence as earlier_title,
        lead(event_key) over sequence as next_key,
        lead(event_type) over sequence as next_type,
        lead(changed_at) over sequence as next_at
    from sayings
    where recency = 1
    window sequence as (partition by profile_id, organization_id order by fact)
),

paired as (
    select
        event_key,
        profile_id,
        organization_id,
        event_type,
        fact,
        before_key,
        before_type,
        before_at,
        next_key,
        next_type,
        next_at,
        coalesce(
            event_type = 'joined' and before_type = 'left' and days_between(before_at, changed_at) <= 31,
            false
        ) as resumes,
        coalesce(
            event_type = 'left' and before_type = 'joined' and earlier_type = 'joined'
            and days_between(before_at, changed_at) <= 31
            and not coalesce(title = before_title and title <> earlier_title, false),
            false
        ) as ends_overlap
    from neighbours
),

linked as (
    select
        event_key,
        profile_id,
        organization_id,
        event_type,
        fact,
        before_key,
        before_type,
        before_at,
        next_key,
        next_type,
        next_at,
        resumes,
        ends_overlap,
        coalesce(lag(ends_overlap) over sequence, false) as before_ends_overlap,
        coalesce(lead(ends_overlap) over sequence, false) as next_ends_overlap,
        coalesce(lead(resumes) over sequence, false) as next_resumes
    from paired
    window sequence as (partition by profile_id, organization_id order by fact)
),

parts as (
    select
        event_key,
        profile_id,
        organization_id,
        fact,
        before_type is null
        or (event_type = 'joined' and before_type = 'left' and not resumes and not before_ends_overlap) as starts_stint,
        case
            when event_type = 'joined' and next_ends_overlap then next_key
            when event_type = 'left' and ends_overlap then before_key
            when event_type = 'left' and next_resumes then next_key
            when resumes and not before_ends_overlap then before_key
        end as partner_event_key,
        case
            when event_type = 'joined' and next_ends_overlap then next_at
            when event_type = 'left' and ends_overlap then before_at
            when event_type = 'left' and next_resumes then next_at
            when resumes and not before_ends_overlap then before_at
        end as partner_changed_at,
        case
            when event_type = 'joined' then
                case
                    when next_ends_overlap or (resumes and not before_ends_overlap) then 'interruption'
                    when before_type is null or (before_type = 'left' and not before_ends_overlap) then 'arrival'
                    else 'repeat'
                end
            when ends_overlap or next_resumes then 'interruption'
            when coalesce(next_type, 'joined') = 'joined' then 'departure'
            else 'repeat'
        end as part
    from linked
),

-- Every event of the ambiguous pairs, changes of title included, in one order; a stint begins with the first saying of the
-- fact that begins it. A change of title at the instant of a joining belongs to what was joined, at that of a leaving
-- to what was left.
placed as (
    select
        facts.event_key,
        facts.profile_id,
        facts.organization_id,
        facts.changed_at,
        case
            when facts.shares_instant then facts.order_in_instant
            when facts.event_type = 'joined' then 0
            else 1000000
        end as order_in_instant,
        case when parts.starts_stint and not facts.is_said_again then 1 else 0 end as starts,
        case when parts.event_key = facts.event_key then parts.part else 'repeat' end as part,
        case when parts.event_key = facts.event_key then parts.partner_event_key end as partner_event_key,
        case when parts.event_key = facts.event_key then parts.partner_changed_at end as partner_changed_at
    from facts
    inner join parts
        on parts.profile_id = facts.profile_id
        and parts.organization_id = facts.organization_id
        and parts.fact = facts.fact
    union all
    select
        event_key,
        profile_id,
        organization_id,
        changed_at,
        999999 as order_in_instant,
        0 as starts,
        'title_change' as part,
        cast(null as string) as partner_event_key,
        null as partner_changed_at
    from ambiguous
    where event_type = 'title_change'
),

numbered as (
    select
        event_key,
        part,
        partner_event_key,
        partner_changed_at,
        -- What lies before the first boundary belongs to the first stint.
        greatest(
            1,
            sum(starts) over (
                partition by profile_id, organization_id order by changed_at, order_in_instant, event_key
                rows between unbounded preceding and current row
            )
        ) as stint_number
    from placed
)

select
    ambiguous.event_key,
    ambiguous.profile_id,
    ambiguous.organization_id,
    cast(numbered.stint_number as integer) as stint_number,
    numbered.part,
    numbered.partner_event_key,
    numbered.partner_changed_at,
    ambiguous.event_type,
    ambiguous.changed_at,
    ambiguous.detected_at,
    ambiguous.detection_lag_days,
    ambiguous.first_seen_at,
    ambiguous.person_full_name,
    ambiguous.organization_name,
    ambiguous.ladder,
    ambiguous.title,
    ambiguous.previous_title
from ambiguous
inner join numbered on numbered.event_key = ambiguous.event_key
