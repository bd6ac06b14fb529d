-- grain: One row per event and track of a person at an organisation where only rules can tell what a stint is.
-- key: event_key, track
-- purpose: Orders these events, and marks those of a side role and those that repeat a fact.
-- incremental_by: profile_id
-- note: Every other pair of person and organisation is a single stint, number 1; see stint_events.
-- note: 1. Events whose title is a side role (board member, adviser) form a separate track: a person who leaves
-- note:    the company and stays on its board has left. A change of title from a main job to a side role is two
-- note:    things: the main job is left, and the side role begins, unless the seat is one of the staff: then who came
-- note:    to it from a main job keeps that. A change from a side role to a main job joins the main job. A title that
-- note:    marks the end of a job (Retired, Former CFO) is neither: a change of title to it leaves the job before, and
-- note:    a joining with it counts for nothing. A title that may be outside advice (Technical Advisor) is a side role
-- note:    where a change of title leads from it to an executive office, or where such an office is joined and nothing
-- note:    else was seen before. An event without a title belongs to the main track, unless all titles of the pair are
-- note:    side roles, or a change of title from the main job to a side role came before it with no main job since.
-- note: 2. A joined event after a joined one, or left after left, with the same title and at most 62 days apart (or in the year
-- note:    that the first names, or where one was announced, and the other detected before it took effect) repeats the
-- note:    same fact: the one detected last counts, a leaving before a change of title that shows it.
-- note: 3. A date known to the month or the year can stand for any day of it, for the year up to the day of detection. Where
-- note:    both a joining and a leaving can have been first, the leaving is first if the person was already there (the last
-- note:    unambiguous boundary before is a joining), otherwise the joining is. With nothing before, the person was already
-- note:    there if they leave later without joining again, or if of two events the leaving is dated first and names another
-- note:    title than the one joined. Where a joining is dated before the leaving and within its month or year, it is second
-- note:    only if it was detected later and the person was already there. A change of title at the instant of a joining
-- note:    belongs to the job joined, at the instant of a leaving to the job left. In the month or year of a leaving that names
-- note:    no title before it, the change comes before the leaving; a change known to the month or year comes after a joining
-- note:    in it.
-- note: The result does not depend on the order in which events were loaded.
-- values: track: main | side
-- values: event_type: joined | left | title_change | nothing
-- references: event_key -> job_change_events.event_key
-- columns:
--   event_key: Stable hash of the event's natural key.
--   track: main, or side for board members, advisers and the like; each has its own stints.
--   is_second: True for the part of a change of title between a main job and a side role that concerns the side role.
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   position: 1 for the first event of the track, then 2, 3, …
--   event_type: The effect of the event on the track: joined, left, title_change, or nothing.
--   changed_at: When the change took effect, UTC, never earlier than that of the previous position: for a leaving known to the month, the day of the joining in it.
--   title: The title after the change as written; for left, the title that was left.
--   previous_title: The title before a change of title in the track as written; null for other events.
--   is_turn: Whether the event is a change of title that joins or leaves the main job or the side role.
--   fact: The number of the joining or leaving that the event reports; null for a change of title.
--   is_first_saying: Whether the event is the first that reports its fact; true for a change of title.
--   counts: Whether the event counts among all events that report its fact; true for a change of title.
with

-- Only a few of all titles.
special_titles as (
    select
        ladder,
        title,
        case
            when is_end_marker then 'end'
            when is_seat_of_staff then 'seat'
            when is_side_role then 'side'
            else 'advice'
        end as kind
    from titles
    where is_side_role or is_end_marker or is_advisory
),

titled as (
    select
        events.event_key,
        events.profile_id,
        events.organization_id,
        events.event_type,
        events.changed_at,
        events.precision,
        events.detected_at,
        events.ladder,
        events.title,
        case when events.event_type = 'title_change' then events.previous_title end as previous_title,
        case when events.title is not null then coalesce(special.kind, 'main') end as kind,
        case
            when events.event_type = 'title_change' and events.previous_title is not null
                then coalesce(special_before.kind, 'main')
        end as previous_kind
    from dated_events as events
    left join special_titles as special on special.ladder = events.ladder and special.title = events.title
    left join special_titles as special_before
        on special_before.ladder = events.ladder
        and special_before.title = case when events.event_type = 'title_change' then events.previous_title end
),

-- All but a few per cent of the pairs of person and organisation have at most one joining, and after it at most one leaving, and
-- no change of title near or after that. They need no rules.
ambiguous_pairs as (
    select
        profile_id,
        organization_id,
        count(case when kind in ('side', 'seat') then 1 end) > 0
        and count(case when kind in ('main', 'advice') or previous_kind in ('main', 'advice') then 1 end) = 0 as is_side_only,
        count(case when kind = 'seat' and previous_kind in ('main', 'advice') then 1 end) > 0 as is_seat_of_job
    from titled
    group by profile_id, organization_id
    having
        count(case when event_type = 'joined' then 1 end) > 1
        or count(case when event_type = 'left' then 1 end) > 1
        or min(case when event_type = 'left' then changed_at end) <= max(case when event_type = 'joined' then changed_at end)
        or min(case when event_type = 'title_change' then changed_at end) < min(case when event_type = 'joined' then changed_at end)
        -- A leaving in a year can come after all changes of title in it.
        or max(case when event_type = 'title_change' then changed_at end)
        >= min(case when event_type = 'left' and precision = 'year' then changed_at end)
        or days_between(
            max(case when event_type = 'title_change' then changed_at end), min(case when event_type = 'left' then changed_at end)
        ) <= 31
        or (
            count(case when kind in ('side', 'seat') then 1 end) > 0
            and count(case when kind in ('main', 'advice') or previous_kind in ('main', 'advice') then 1 end) > 0
        )
        or count(case when kind = 'end' then 1 end) > 0
        or count(case when kind <> previous_kind then 1 end) > 0
),

-- A title that may be outside advice is a side role where it leads to an executive office, by a change of title, or by a joining
-- before which nothing else was seen.
led as (
    select
        profile_id,
        organization_id,
        title,
        event_type,
        kind,
        changed_at,
        ladder,
        previous_title,
        previous_kind,
        min(case when coalesce(kind <> 'advice' or previous_kind = 'main', kind is null) or event_type = 'left' then changed_at end) over (
            partition by profile_id, organization_id
        ) as other_at
    from titled
),

advice as (
    select profile_id, organization_id, title, max(changed_at) as changed_at
    from (
        select led.profile_id, led.organization_id, led.previous_title as title, led.changed_at
        from led
        inner join titles on titles.ladder = led.ladder and titles.title = led.title
        where led.previous_kind = 'advice' and led.kind = 'main' and titles.level = 'cxo'
        union all
        select led.profile_id, led.organization_id, advised.title, led.changed_at
        from led
        inner join titles on titles.ladder = led.ladder and titles.title = led.title
        inner join led as advised
            on advised.profile_id = led.profile_id
            and advised.organization_id = led.organization_id
            and advised.changed_at < led.changed_at
        where
            led.event_type = 'joined' and led.kind = 'main' and titles.level = 'cxo' and led.changed_at = led.other_at
    ) as ways
    group by profile_id, organization_id, title
),

resolved as (
    select
        titled.event_key,
        titled.profile_id,
        titled.organization_id,
        titled.event_type,
        titled.changed_at,
        titled.precision,
        titled.detected_at,
        titled.title,
        titled.previous_title,
        case
            when titled.kind = 'advice' and titled.changed_at <= advice.changed_at then 'side'
            when titled.kind = 'advice' then 'main'
            when titled.kind = 'seat' then case when ambiguous_pairs.is_seat_of_job then 'main' else 'side' end
            else titled.kind
        end as kind,
        case
            when titled.previous_kind = 'advice' and titled.changed_at <= advice_before.changed_at then 'side'
            when titled.previous_kind = 'advice' then 'main'
            when titled.previous_kind = 'seat' then case when ambiguous_pairs.is_seat_of_job then 'main' else 'side' end
            else titled.previous_kind
        end as previous_kind,
        ambiguous_pairs.is_side_only
    from titled
    inner join ambiguous_pairs
        on ambiguous_pairs.profile_id = titled.profile_id
        and ambiguous_pairs.organization_id = titled.organization_id
    left join advice
        on advice.profile_id = titled.profile_id
        and advice.organization_id = titled.organization_id
        and advice.title = titled.title
    left join advice as advice_before
        on advice_before.profile_id = titled.profile_id
        and advice_before.organization_id = titled.organization_id
        and advice_before.title = titled.previous_title
),

-- An event without a title after a change of title from a main job to a side role belongs to the side role.
sorted as (
    select
        titled.event_key,
        titled.profile_id,
        titled.organization_id,
        titled.event_type,
        titled.changed_at,
        titled.precision,
        titled.detected_at,
        titled.title,
        titled.previous_title,
        titled.kind,
        titled.previous_kind,
        titled.is_side_only
        or (
            titled.kind is null
            and coalesce(
                max(case when titled.kind = 'side' and titled.previous_kind = 'main' then titled.changed_at end) over before
                > max(
                    case
                        when titled.kind is null and titled.event_type = 'joined' then titled.changed_at
                        when titled.kind = 'main' and titled.event_type <> 'left' then titled.changed_at
                    end
                ) over before,
                max(case when titled.kind = 'side' and titled.previous_kind = 'main' then titled.changed_at end) over before
                is not null
            )
        ) as is_of_side_role
    from resolved as titled
    window before as (
        partition by titled.profile_id, titled.organization_id order by titled.changed_at, titled.detected_at, titled.event_key
        rows between unbounded preceding and 1 preceding
    )
),

-- The effect of each event on the main job or the side role: joined, left, a change of title, or nothing.
acting as (
    select
        event_key,
        profile_id,
        organization_id,
        changed_at,
        precision,
        detected_at,
        false as is_second,
        case
            when kind = 'side' and previous_kind = 'main' then 'main'
            when kind = 'end' and previous_kind = 'side' then 'side'
            when kind = 'side' then 'side'
            when kind = 'main' then 'main'
            when is_of_side_role then 'side'
            else 'main'
        end as track,
        case
            when event_type = 'title_change' and kind = 'end' and previous_kind = 'end' then 'nothing'
            when event_type = 'joined' and kind = 'end' then 'nothing'
            when event_type = 'title_change' and kind = 'end' then 'left'
            when event_type = 'title_change' and kind = 'side' and previous_kind = 'main' then 'left'
            when event_type = 'title_change' and kind = 'main' and previous_kind in ('side', 'end') then 'joined'
            when event_type = 'title_change' and kind = 'side' and previous_kind = 'end' then 'joined'
            else event_type
        end as event_type,
        case
            when event_type = 'title_change' and kind = 'end' then case when previous_kind <> 'end' then previous_title end
            when event_type = 'title_change' and kind = 'side' and previous_kind = 'main' then previous_title
            when kind = 'end' then null
            else title
        end as title,
        case when previous_kind = kind or previous_kind is null or kind is null then previous_title end as previous_title,
        event_type = 'title_change' and coalesce(kind = 'end' or kind <> previous_kind, false) as is_turn
    from sorted
    union all
    select
        event_key,
        profile_id,
        organization_id,
        changed_at,
        precision,
        detected_at,
        true as is_second,
        'side' as track,
        case when kind = 'side' then 'joined' else 'left' end as event_type,
        case when kind = 'side' then title else previous_title end as title,
        cast(null as string) as previous_title,
        true as is_turn
    from sorted
    where (kind = 'side' and previous_kind = 'main') or (kind = 'main' and previous_kind = 'side')
),

-- All of them as dated, with the range of possible days.
dated as (
    select
        event_key,
        profile_id,
        organization_id,
        track,
        is_second,
        event_type,
        changed_at,
        detected_at,
        title,
        is_turn,
        precision,
        utc_date(changed_at) as first_on,
        latest_seen(changed_at, precision, detected_at) as last_on,
        row_number() over (
            partition by profile_id, organization_id, track order by changed_at, detected_at, event_type, event_key
        ) as place
    from acting
    where event_type <> 'nothing'
),

-- If the ranges of an adjacent joining and leaving overlap, either can have been first.
beside as (
    select
        event_key,
        profile_id,
        organization_id,
        track,
        is_second,
        event_type,
        changed_at,
        detected_at,
        title,
        is_turn,
        precision,
        first_on,
        last_on,
        place,
        event_type = 'title_change' as is_change,
        max(case when event_type <> 'title_change' then last_on end) over (
            partition by profile_id, organization_id, track order by place rows between unbounded preceding and 1 preceding
        ) as last_on_before,
        lag(title) over timeline as title_before,
        lead(title) over timeline as next_title,
        lead(changed_at) over timeline as next_at,
        lead(detected_at) over timeline as next_detected_at,
        lead(first_on) over timeline as next_first_on,
        coalesce(lag(changed_at) over timeline = changed_at, false)
        or coalesce(lead(changed_at) over timeline = changed_at, false) as shares_instant,
        coalesce(lag(event_type) over timeline <> event_type and first_on <= lag(last_on) over timeline, false)
            as overlaps_before,
        coalesce(lead(event_type) over timeline <> event_type and lead(first_on) over timeline <= last_on, false)
            as overlaps_next
    from dated
    window timeline as (
        partition by profile_id, organization_id, track, case when event_type = 'title_change' then 1 else 0 end order by place
    )
),

-- The unambiguous events. A change of title shows that the person was there.
standing as (
    select
        event_key,
        profile_id,
        organization_id,
        track,
        is_second,
        event_type,
        changed_at,
        detected_at,
        title,
        is_turn,
        precision,
        first_on,
        last_on,
        place,
        is_change,
        title_before,
        next_title,
        next_at,
        next_detected_at,
        next_first_on,
        shares_instant,
        overlaps_next,
        case
            when is_change then coalesce(first_on > last_on_before, true)
            else not overlaps_before and not overlaps_next
        end as stands_alone
    from beside
),

-- The nearest unambiguous event, as place * 2, plus 1 if the person joined or was there then: one number gives the nearest and,
-- by being odd, its meaning.
surroundings as (
    select
        event_key,
        profile_id,
        organization_id,
        track,
        is_second,
        event_type,
        changed_at,
        detected_at,
        title,
        is_turn,
        precision,
        first_on,
        last_on,
        place,
        is_change,
        title_before,
        next_title,
        next_at,
        next_detected_at,
        next_first_on,
        shares_instant,
        overlaps_next,
        mod(
            max(case when stands_alone then place * 2 + case when event_type = 'left' then 0 else 1 end end) over (
                partition by profile_id, organization_id, track order by place
                rows between unbounded preceding and current row
            ),
            2
        ) as is_joined_before,
        mod(
            min(case when stands_alone then place * 2 + case when event_type = 'joined' then 1 else 0 end end) over (
                partition by profile_id, organization_id, track order by place
                rows between current row and unbounded following
            ),
            2
        ) as is_joined_after
    from standing
),

-- Rule 3: the events that come after the next one.
deferred as (
    select
        event_key,
        profile_id,
        organization_id,
        track,
        is_second,
        event_type,
        changed_at,
        detected_at,
        title,
        is_turn,
        precision,
        first_on,
        last_on,
        place,
        next_at,
        shares_instant,
        overlaps_next
        and coalesce(
            case
                when event_type = 'left' and is_joined_before = 1 then false
                when event_type = 'left' and is_joined_before = 0 then true
                when event_type = 'left' and is_joined_after = 0 then false
                when event_type = 'left' then title is null or next_title is null or title = next_title
                when is_joined_before = 0 then false
                when next_first_on = first_on then is_joined_before = 1 or is_joined_after = 0
                when next_detected_at < detected_at
                    then is_joined_before = 1 and not coalesce(title = next_title and title is distinct from title_before, false)
                else false
            end,
            false
        ) as is_deferred
    from surroundings
    where not is_change
),

ordered as (
    select
        event_key,
        profile_id,
        organization_id,
        track,
        is_second,
        event_type,
        changed_at,
        detected_at,
        title,
        is_turn,
        precision,
        first_on,
        last_on,
        place,
        shares_instant,
        case when is_deferred then next_at else changed_at end as sort_at,
        case
            when is_deferred then 2
            when event_type = 'left' then 1
            else 0
        end as order_in_instant,
        row_number() over (
            partition by profile_id, organization_id, track
            order by
                case when is_deferred then next_at else changed_at end,
                case when is_deferred then 1 else 0 end,
                place
        ) as turn
    from deferred
),

compared as (
    select
        event_key,
        profile_id,
        organization_id,
        track,
        is_second,
        event_type,
        changed_at,
        detected_at,
        title,
        is_turn,
        precision,
        last_on,
        sort_at,
        order_in_instant,
        shares_instant,
        turn,
        coalesce(
            lag(event_type) over sequence = event_type
            and (
                days_between(lag(changed_at) over sequence, changed_at) between -62 and 62
                or (event_type = 'left' and lag(precision) over sequence = 'year' and utc_date(changed_at) <= lag(last_on) over sequence)
                or case
                    when detected_at >= lag(detected_at) over sequence then detected_at < lag(changed_at) over sequence
                    else lag(detected_at) over sequence < changed_at
                end
            )
            and lag(title) over sequence is not distinct from title,
            false
        ) as is_said_again
    from ordered
    window sequence as (partition by profile_id, organization_id, track order by turn)
),

facts as (
    select
        event_key,
        profile_id,
        organization_id,
        track,
        is_second,
        event_type,
        changed_at,
        detected_at,
        title,
        is_turn,
        last_on,
        sort_at,
        order_in_instant,
        shares_instant,
        turn,
        is_said_again,
        sum(case when is_said_again then 0 else 1 end) over (
            partition by profile_id, organization_id, track order by turn
            rows between unbounded preceding and current row
        ) as fact
    from compared
),

-- A leaving in a month or a year comes after the changes of title in it, up to the next joining or leaving.
last_changes as (
    select leavings.event_key, leavings.track, max(changes.changed_at) as changed_at
    from facts as leavings
    inner join acting as changes
        on changes.profile_id = leavings.profile_id
        and changes.organization_id = leavings.organization_id
        and changes.track = leavings.track
        and changes.event_type = 'title_change'
        and changes.changed_at >= leavings.sort_at
        and utc_date(changes.changed_at) <= leavings.last_on
    left join facts as next_ends
        on next_ends.profile_id = leavings.profile_id
        and next_ends.organization_id = leavings.organization_id
        and next_ends.track = leavings.track
        and next_ends.turn = leavings.turn + 1
    where
        leavings.event_type = 'left'
        and leavings.last_on > utc_date(leavings.changed_at)
        and coalesce(changes.changed_at < next_ends.sort_at, true)
        -- A leaving that names the title before was the first.
        and not coalesce(leavings.title = changes.previous_title and leavings.title <> changes.title, false)
    group by leavings.event_key, leavings.track
),

-- A change of title in a month or a year comes after a joining in it of a person who was not there.
joinings_before as (
    select changes.event_key, changes.track, max(joinings.sort_at) as joined_at
    from acting as changes
    inner join facts as joinings
        on joinings.profile_id = changes.profile_id
        and joinings.organization_id = changes.organization_id
        and joinings.track = changes.track
        and joinings.sort_at > changes.changed_at
    left join facts as before
        on before.profile_id = joinings.profile_id
        and before.organization_id = joinings.organization_id
        and before.track = joinings.track
        and before.turn = joinings.turn - 1
    where
        changes.event_type = 'title_change'
        and changes.precision in ('month', 'year')
        and joinings.event_type = 'joined'
        and utc_date(joinings.changed_at) <= latest_seen(changes.changed_at, changes.precision, changes.detected_at)
        and coalesce(before.event_type = 'left', true)
        and coalesce(before.sort_at <= changes.changed_at, true)
    group by changes.event_key, changes.track
),

every_event as (
    select
        facts.event_key,
        facts.profile_id,
        facts.organization_id,
        facts.track,
        facts.is_second,
        facts.event_type,
        facts.changed_at,
        facts.title,
        cast(null as string) as previous_title,
        facts.is_turn,
        greatest(facts.sort_at, coalesce(last_changes.changed_at, facts.sort_at)) as sort_at,
        case
            when last_changes.changed_at is not null then 5
            when facts.order_in_instant > 0 and not facts.shares_instant then 4
            else 2
        end as order_in_instant,
        facts.turn,
        facts.fact,
        not facts.is_said_again as is_first_saying,
        row_number() over (
            partition by facts.profile_id, facts.organization_id, facts.track, facts.fact
            -- A leaving has a date; a change of title to Former or to a side role shows only when it was noticed.
            order by
                case when facts.event_type = 'left' and facts.is_turn then 1 else 0 end,
                facts.detected_at desc,
                facts.changed_at desc,
                facts.event_key desc
        ) = 1 as counts
    from facts
    left join last_changes on last_changes.event_key = facts.event_key and last_changes.track = facts.track
    union all
    select
        acting.event_key,
        acting.profile_id,
        acting.organization_id,
        acting.track,
        acting.is_second,
        acting.event_type,
        acting.changed_at,
        acting.title,
        acting.previous_title,
        false as is_turn,
        coalesce(joinings_before.joined_at, acting.changed_at) as sort_at,
        3 as order_in_instant,
        0 as turn,
        null as fact,
        true as is_first_saying,
        acting.event_type = 'title_change' as counts
    from acting
    left join joinings_before on joinings_before.event_key = acting.event_key and joinings_before.track = acting.track
    where acting.event_type in ('title_change', 'nothing')
),

positioned as (
    select
        event_key,
        profile_id,
        organization_id,
        track,
        is_second,
        event_type,
        changed_at,
        title,
        previous_title,
        is_turn,
        fact,
        is_first_saying,
        counts,
        row_number() over (
            partition by profile_id, organization_id, track order by sort_at, order_in_instant, turn, event_key
        ) as position
    from every_event
)

select
    event_key,
    track,
    is_second,
    profile_id,
    organization_id,
    cast(position as integer) as position,
    event_type,
    greatest(
        changed_at,
        coalesce(
            max(case when event_type in ('joined', 'left') then changed_at end) over (
                partition by profile_id, organization_id, track order by position rows between unbounded preceding and current row
            ),
            changed_at
        )
    ) as changed_at,
    title,
    previous_title,
    is_turn,
    cast(fact as integer) as fact,
    is_first_saying,
    counts
from positioned
