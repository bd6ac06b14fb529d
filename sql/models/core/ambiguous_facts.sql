-- grain: One row per event of a person at an organisation where it takes rules to say what is a stint.
-- key: event_key
-- purpose: In which order these events come, which of them are of a side role, and which say the same fact again.
-- incremental_by: profile_id
-- note: Of other pairs of person and organisation, all is stint 1: stint_events says that.
-- note: 1. Events whose title is a side role (board member, adviser) are a track of their own: somebody who leaves the company and
-- note:    stays on its board has left. A side role that a change of title led to from a main one is part of the main track from
-- note:    then on, and so are those that changes of title lead to after it.
-- note:    An event without a title is of the main track, unless all titles of the pair are side roles.
-- note: 2. A joined event after a joined one, or left after left, at most 62 days apart and with the same title is the same
-- note:    fact said again: of these the one detected last counts.
-- note: 3. Of joined and left at one instant, left comes first for somebody who was there (the last boundary before that
-- note:    stands alone is joined), else joined comes first. With nothing before, somebody who leaves later without joining
-- note:    again was there, too; else the one detected first comes first. A change of title at the instant of a joining belongs
-- note:    to what was joined, at that of a leaving to what was left.
-- note: The order in which events were loaded never matters.
-- values: track: main | side
-- values: event_type: joined | left | title_change
-- references: event_key -> job_change_events.event_key
-- columns:
--   event_key: Stable hash of the event's natural key; unique.
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   track: main, or side for board members, advisers and the like; each has stints of its own.
--   position: 1 for the first event of the track, then 2, 3, …
--   event_type: joined, left or title_change.
--   changed_at: When the change took effect, UTC. Often known to the month only: then the first of that month.
--   title: The title after the change as written; for left, the title that was left.
--   previous_title: The title before a change of title as written; null for other events.
--   fact: The number of the joining or leaving that it says; null for a change of title.
--   is_first_saying: Whether it is the first event that says its fact; true for a change of title.
--   counts: Whether it is the one of the events that say its fact that counts; true for a change of title.
with

-- Of all titles only a few.
side_roles as (
    select ladder, title
    from titles
    where is_side_role
),

titled as (
    select
        events.event_key,
        events.profile_id,
        events.organization_id,
        events.event_type,
        events.changed_at,
        events.detected_at,
        events.title,
        case when events.event_type = 'title_change' then events.previous_title end as previous_title,
        side_roles.title is not null as is_side,
        side_roles.title is not null and events.event_type = 'title_change' and events.previous_title is not null
        and side_roles_before.title is null as leads_to_side
    from dated_events as events
    left join side_roles on side_roles.ladder = events.ladder and side_roles.title = events.title
    left join side_roles as side_roles_before
        on side_roles_before.ladder = events.ladder
        and side_roles_before.title = case when events.event_type = 'title_change' then events.previous_title end
),

-- All but a few per cent of the pairs of person and organisation have one joining at most, and after it one leaving at most,
-- and no change of title near or after that. There is nothing to sort out for them.
ambiguous_pairs as (
    select
        profile_id,
        organization_id,
        count(title) > 0
        and count(title) = count(case when is_side then 1 end)
        and count(case when leads_to_side then 1 end) = 0 as is_side_only
    from titled
    group by profile_id, organization_id
    having
        count(case when event_type = 'joined' then 1 end) > 1
        or count(case when event_type = 'left' then 1 end) > 1
        or min(case when event_type = 'left' then changed_at end) <= max(case when event_type = 'joined' then changed_at end)
        or min(case when event_type = 'title_change' then changed_at end) < min(case when event_type = 'joined' then changed_at end)
        or days_between(
            max(case when event_type = 'title_change' then changed_at end), min(case when event_type = 'left' then changed_at end)
        ) <= 31
        or (count(case when is_side then 1 end) > 0 and count(title) > count(case when is_side then 1 end))
        or (count(case when leads_to_side then 1 end) > 0 and count(*) > 1)
),

-- Founder to board member, by a change of title: the seat on the board is what the founder does there from then on, and so are
-- the side roles that changes of title lead to after it.
first_leads_to_side as (
    select profile_id, organization_id, min(changed_at) as changed_at
    from titled
    where leads_to_side
    group by profile_id, organization_id
),

side_roles_of_main_track as (
    select titled.profile_id, titled.organization_id, titled.title, min(titled.changed_at) as since
    from titled
    inner join first_leads_to_side as led
        on led.profile_id = titled.profile_id and led.organization_id = titled.organization_id
    where
        titled.is_side
        and titled.event_type = 'title_change'
        and titled.previous_title is not null
        and titled.changed_at >= led.changed_at
    group by titled.profile_id, titled.organization_id, titled.title
),

tracked as (
    select
        titled.event_key,
        titled.profile_id,
        titled.organization_id,
        titled.event_type,
        titled.changed_at,
        titled.detected_at,
        titled.title,
        titled.previous_title,
        case
            when titled.title is null and ambiguous_pairs.is_side_only then 'side'
            when titled.is_side and led_to.title is null then 'side'
            else 'main'
        end as track
    from titled
    inner join ambiguous_pairs
        on ambiguous_pairs.profile_id = titled.profile_id
        and ambiguous_pairs.organization_id = titled.organization_id
    left join side_roles_of_main_track as led_to
        on led_to.profile_id = titled.profile_id
        and led_to.organization_id = titled.organization_id
        and led_to.title = titled.title
        and led_to.since <= titled.changed_at
),

boundaries as (
    select
        event_key,
        profile_id,
        organization_id,
        track,
        event_type,
        changed_at,
        detected_at,
        title,
        row_number() over timeline as place,
        coalesce(lag(changed_at) over timeline = changed_at, false)
        or coalesce(lead(changed_at) over timeline = changed_at, false) as shares_instant
    from tracked
    where event_type <> 'title_change'
    window timeline as (
        partition by profile_id, organization_id, track order by changed_at, detected_at, event_type, event_key
    )
),

-- What the nearest boundaries are that stand alone, as place * 2, and 1 more for joined: so one number says which of them
-- is the nearest and, by being odd, that it is a joining.
surroundings as (
    select
        event_key,
        profile_id,
        organization_id,
        track,
        event_type,
        changed_at,
        detected_at,
        title,
        place,
        shares_instant,
        max(case when not shares_instant then place * 2 + case when event_type = 'joined' then 1 else 0 end end) over (
            partition by profile_id, organization_id, track order by place
            rows between unbounded preceding and current row
        ) as certain_before,
        min(case when not shares_instant then place * 2 + case when event_type = 'joined' then 1 else 0 end end) over (
            partition by profile_id, organization_id, track order by place
            rows between current row and unbounded following
        ) as certain_after
    from boundaries
),

ordered as (
    select
        event_key,
        profile_id,
        organization_id,
        track,
        event_type,
        changed_at,
        detected_at,
        title,
        case
            when not shares_instant then case when event_type = 'joined' then 0 else 1000000 end
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
        track,
        event_type,
        changed_at,
        detected_at,
        title,
        order_in_instant,
        coalesce(
            lag(event_type) over sequence = event_type
            and days_between(lag(changed_at) over sequence, changed_at) <= 62
            and lag(title) over sequence is not distinct from title,
            false
        ) as is_said_again
    from ordered
    window sequence as (partition by profile_id, organization_id, track order by changed_at, order_in_instant)
),

facts as (
    select
        event_key,
        profile_id,
        organization_id,
        track,
        event_type,
        changed_at,
        detected_at,
        title,
        order_in_instant,
        is_said_again,
        sum(case when is_said_again then 0 else 1 end) over (
            partition by profile_id, organization_id, track order by changed_at, order_in_instant
            rows between unbounded preceding and current row
        ) as fact
    from compared
),

every_event as (
    select
        event_key,
        profile_id,
        organization_id,
        track,
        event_type,
        changed_at,
        title,
        cast(null as string) as previous_title,
        order_in_instant,
        fact,
        not is_said_again as is_first_saying,
        row_number() over (
            partition by profile_id, organization_id, track, fact order by detected_at desc, changed_at desc, event_key desc
        ) = 1 as counts
    from facts
    union all
    select
        event_key,
        profile_id,
        organization_id,
        track,
        event_type,
        changed_at,
        title,
        previous_title,
        999999 as order_in_instant,
        null as fact,
        true as is_first_saying,
        true as counts
    from tracked
    where event_type = 'title_change'
)

select
    event_key,
    profile_id,
    organization_id,
    track,
    cast(
        row_number() over (partition by profile_id, organization_id, track order by changed_at, order_in_instant, event_key) as integer
    ) as position,
    event_type,
    changed_at,
    title,
    previous_title,
    cast(fact as integer) as fact,
    is_first_saying,
    counts
from every_event
