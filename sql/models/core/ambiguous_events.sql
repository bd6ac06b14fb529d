-- grain: One row per event of a person at an organisation where it takes rules to say what is a stint.
-- key: event_key
-- purpose: Places the events of ambiguous_facts in the stints of the person there, and says which are roles inside a stint.
-- incremental_by: profile_id
-- note: The rules, for each track by itself, over what is said once:
-- note: 1. A left event ends a role, and no stint, where the person has another: it names a title that was said before their last
-- note:    joining there, which named another one, and not since, nor left more than 31 days before that joining; or the title
-- note:    before a change of title at most 31 days ago. So does a left event at most 31 days after a joining of somebody who was
-- note:    there (the new role was seen before the end of the old one), unless it names the new role and not the old one. A
-- note:    joining of somebody who is there begins a role.
-- note: 2. A left event and a joined one at most 31 days later are an internal move, or a leaving that was taken back: the
-- note:    stint goes on. After a longer absence the joining begins another stint.
-- note: 3. A joining of somebody who is there begins another stint where they had another job between: joined and left elsewhere,
-- note:    at least 180 days apart, and that leaving as near to this joining as in a move. The leaving here was not seen.
-- note: 4. Of leavings at most 62 days apart the last counts. Further apart, with nothing between, the person had come back. So they
-- note:    had where a change of title is told more than 31 days after a leaving: another stint, whose joining was not seen. One
-- note:    told up to 31 days after takes the leaving back, unless the leaving names the title that it leads to: then it is told late.
-- note: 5. A joining at most 31 days after a change of title that begins a stint is the arrival of that stint.
-- values: event_type: joined | left | title_change
-- values: part: arrival | departure | interruption | role_start | role_end | repeat | title_change
-- references: event_key -> job_change_events.event_key
-- columns:
--   event_key: Stable hash of the event's natural key; unique.
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   stint_number: The stint the event belongs to: 1 for the person's first at the organisation, then 2, 3, …
--   previous_stint_number: The stint before it of the same track, main or side; null for the first.
--   part: What the event is to the stint: arrival (begins it), departure (ends it), interruption (left and joined inside it: no leaving), role_start (joined while there), role_end (left while another role goes on, or taken back), repeat (said before, or again later), title_change.
--   partner_event_key: For an interruption, the event_key of the other of the two events; else null.
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

timeline as (
    select event_key, profile_id, organization_id, track, position, event_type, changed_at, title, previous_title, fact
    from ambiguous_facts
    where counts
),

-- What was said of the person there before each leaving that names a title: the last joining, the first and the last time that
-- the title was said, the last leaving that named it, and the last joining or change of title.
said_before as (
    select
        leavings.event_key,
        leavings.profile_id,
        leavings.organization_id,
        leavings.track,
        leavings.title,
        leavings.changed_at,
        max(case when said.event_type = 'joined' then said.position end) as joined_position,
        min(
            case
                when said.event_type <> 'left' and leavings.title in (said.title, said.previous_title) then said.position
            end
        ) as first_position,
        max(case when said.event_type <> 'left' and said.title = leavings.title then said.position end) as last_position,
        max(case when said.event_type = 'left' then said.position end) as left_position,
        max(case when said.event_type = 'left' then said.changed_at end) as left_at,
        max(case when said.event_type <> 'left' then said.position end) as newest_position
    from timeline as leavings
    inner join timeline as said
        on said.profile_id = leavings.profile_id
        and said.organization_id = leavings.organization_id
        and said.track = leavings.track
        and said.position < leavings.position
        and (said.event_type <> 'left' or said.title = leavings.title)
    where leavings.event_type = 'left' and leavings.title is not null
    group by
        leavings.event_key, leavings.profile_id, leavings.organization_id, leavings.track, leavings.title, leavings.changed_at
),

-- Rule 1, by the titles.
named_role_ends as (
    select said_before.event_key
    from said_before
    left join timeline as joinings
        on joinings.profile_id = said_before.profile_id
        and joinings.organization_id = said_before.organization_id
        and joinings.track = said_before.track
        and joinings.position = said_before.joined_position
    inner join timeline as newest
        on newest.profile_id = said_before.profile_id
        and newest.organization_id = said_before.organization_id
        and newest.track = said_before.track
        and newest.position = said_before.newest_position
    where
        (
            joinings.title <> said_before.title
            and said_before.first_position < said_before.joined_position
            and coalesce(said_before.last_position, 0) < said_before.joined_position
            -- What had ended before the person came back cannot end again.
            and not coalesce(
                said_before.left_position > coalesce(said_before.last_position, 0)
                and days_between(said_before.left_at, joinings.changed_at) > 31,
                false
            )
        )
        or (
            newest.event_type = 'title_change'
            and newest.previous_title = said_before.title
            and newest.title <> said_before.title
            and days_between(newest.changed_at, said_before.changed_at) <= 31
        )
),

not_named as (
    select
        timeline.event_key,
        timeline.profile_id,
        timeline.organization_id,
        timeline.track,
        timeline.position,
        timeline.event_type,
        timeline.changed_at,
        timeline.title,
        timeline.fact,
        lag(timeline.event_type) over sequence as before_type,
        lag(timeline.changed_at) over sequence as before_at,
        lag(timeline.title) over sequence as before_title,
        lag(timeline.event_type, 2) over sequence as earlier_type,
        lag(timeline.title, 2) over sequence as earlier_title
    from timeline
    left join named_role_ends on named_role_ends.event_key = timeline.event_key
    where named_role_ends.event_key is null
    window sequence as (partition by timeline.profile_id, timeline.organization_id, timeline.track order by timeline.position)
),

-- Rule 1, by the days.
not_overlapping as (
    select event_key, profile_id, organization_id, track, position, event_type, changed_at, title, fact
    from not_named
    where
        not coalesce(
            event_type = 'left' and before_type = 'joined' and earlier_type in ('joined', 'title_change')
            and days_between(before_at, changed_at) <= 31
            and not coalesce(title = before_title and title <> earlier_title, false),
            false
        )
),

followed as (
    select
        event_key,
        profile_id,
        organization_id,
        track,
        position,
        event_type,
        changed_at,
        title,
        fact,
        coalesce(
            event_type = 'left' and lead(event_type) over sequence = 'left'
            and days_between(changed_at, lead(changed_at) over sequence) <= 62,
            false
        ) as is_left_again
    from not_overlapping
    window sequence as (partition by profile_id, organization_id, track order by position)
),

-- The last leaving before each change of title, where nobody joined between.
after_leaving as (
    select
        event_key,
        profile_id,
        organization_id,
        track,
        position,
        event_type,
        changed_at,
        title,
        fact,
        max(case when event_type = 'left' then position end) over before as left_position,
        max(case when event_type = 'joined' then position end) over before as joined_position
    from followed
    where not is_left_again
    window before as (
        partition by profile_id, organization_id, track order by position rows between unbounded preceding and 1 preceding
    )
),

-- Rule 4: a title that the leaving names, and that is told a little late.
told_late as (
    select changes.event_key
    from after_leaving as changes
    inner join after_leaving as leavings
        on leavings.profile_id = changes.profile_id
        and leavings.organization_id = changes.organization_id
        and leavings.track = changes.track
        and leavings.position = changes.left_position
    where
        changes.event_type = 'title_change'
        and changes.left_position > coalesce(changes.joined_position, 0)
        and leavings.title = changes.title
        and days_between(leavings.changed_at, changes.changed_at) <= 31
),

in_time as (
    select
        steps.event_key,
        steps.profile_id,
        steps.organization_id,
        steps.track,
        steps.position,
        steps.event_type,
        steps.changed_at,
        steps.fact,
        coalesce(
            steps.event_type = 'left' and lead(steps.event_type) over sequence = 'title_change'
            and days_between(steps.changed_at, lead(steps.changed_at) over sequence) <= 31,
            false
        ) as is_taken_back
    from after_leaving as steps
    left join told_late on told_late.event_key = steps.event_key
    where told_late.event_key is null
    window sequence as (partition by steps.profile_id, steps.organization_id, steps.track order by steps.position)
),

neighbours as (
    select
        event_key,
        profile_id,
        organization_id,
        track,
        position,
        event_type,
        changed_at,
        fact,
        lag(event_key) over sequence as before_key,
        lag(event_type) over sequence as before_type,
        lag(changed_at) over sequence as before_at,
        coalesce(
            event_type = 'joined' and lag(event_type) over sequence = 'left'
            and days_between(lag(changed_at) over sequence, changed_at) <= 31,
            false
        ) as resumes
    from in_time
    where not is_taken_back
    window sequence as (partition by profile_id, organization_id, track order by position)
),

-- Rule 3: joined and, at least 180 days later, left elsewhere, between what was last seen here and joining here again.
worked_elsewhere as (
    select distinct here.event_key
    from neighbours as here
    inner join dated_events as joined_there
        on joined_there.profile_id = here.profile_id
        and joined_there.organization_id <> here.organization_id
        and joined_there.changed_at > here.before_at
    inner join dated_events as left_there
        on left_there.profile_id = joined_there.profile_id
        and left_there.organization_id = joined_there.organization_id
    left join titles as titles_there on titles_there.ladder = left_there.ladder and titles_there.title = left_there.title
    where
        here.event_type = 'joined'
        and here.before_type <> 'left'
        and here.track = 'main'
        and joined_there.event_type = 'joined'
        and left_there.event_type = 'left'
        and days_between(joined_there.changed_at, left_there.changed_at) >= 180
        and days_between(left_there.changed_at, here.changed_at) between -31 and 180
        and not coalesce(titles_there.is_side_role, false)
),

begun as (
    select
        neighbours.event_key,
        neighbours.profile_id,
        neighbours.organization_id,
        neighbours.track,
        neighbours.position,
        neighbours.event_type,
        neighbours.changed_at,
        neighbours.fact,
        neighbours.before_key,
        neighbours.before_at,
        neighbours.resumes,
        neighbours.before_type is null
        or (neighbours.before_type = 'left' and not neighbours.resumes)
        or worked_elsewhere.event_key is not null as starts_stint
    from neighbours
    left join worked_elsewhere on worked_elsewhere.event_key = neighbours.event_key
),

-- Rule 5: a change of title just before a joining shows nobody who was there.
parts as (
    select
        event_key,
        profile_id,
        organization_id,
        track,
        position,
        fact,
        starts_stint,
        case
            when event_type = 'title_change' then 'title_change'
            when resumes or coalesce(lead(resumes) over sequence, false) then 'interruption'
            when event_type = 'left' then 'departure'
            when starts_stint then 'arrival'
            when
                lag(event_type) over sequence = 'title_change'
                and lag(starts_stint) over sequence
                and days_between(before_at, changed_at) <= 31
                then 'arrival'
            else 'role_start'
        end as part,
        case
            when resumes then before_key
            when coalesce(lead(resumes) over sequence, false) then lead(event_key) over sequence
        end as partner_event_key
    from begun
    window sequence as (partition by profile_id, organization_id, track order by position)
),

-- Every event of the ambiguous pairs; a stint begins with the first saying of the fact that begins it.
placed as (
    select
        facts.event_key,
        facts.profile_id,
        facts.organization_id,
        facts.track,
        facts.changed_at,
        coalesce(
            parts.part,
            case
                when facts.event_type = 'title_change' then 'title_change'
                when facts.counts and facts.event_type = 'left' and not coalesce(followed.is_left_again, false) then 'role_end'
                else 'repeat'
            end
        ) as part,
        parts.partner_event_key,
        -- What lies before all of them belongs to the first stint.
        greatest(
            1,
            sum(case when coalesce(starts.starts_stint, false) and facts.is_first_saying then 1 else 0 end) over (
                partition by facts.profile_id, facts.organization_id, facts.track order by facts.position
                rows between unbounded preceding and current row
            )
        ) as nth
    from ambiguous_facts as facts
    left join parts on parts.event_key = facts.event_key
    left join followed on followed.event_key = facts.event_key
    left join parts as starts
        on starts.profile_id = facts.profile_id
        and starts.organization_id = facts.organization_id
        and starts.track = facts.track
        -- One term that can be hashed: with `or`, each event would be compared with each. A change of title is in no fact.
        and coalesce(starts.fact, -starts.position) = coalesce(facts.fact, -facts.position)
),

spans as (
    select
        profile_id,
        organization_id,
        track,
        nth,
        row_number() over (
            partition by profile_id, organization_id order by min(changed_at), track, nth
        ) as stint_number
    from placed
    group by profile_id, organization_id, track, nth
),

stints as (
    select
        profile_id,
        organization_id,
        track,
        nth,
        stint_number,
        lag(stint_number) over (partition by profile_id, organization_id, track order by nth) as previous_stint_number
    from spans
)

select
    placed.event_key,
    placed.profile_id,
    placed.organization_id,
    cast(stints.stint_number as integer) as stint_number,
    cast(stints.previous_stint_number as integer) as previous_stint_number,
    placed.part,
    placed.partner_event_key,
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
from placed
inner join stints
    on stints.profile_id = placed.profile_id
    and stints.organization_id = placed.organization_id
    and stints.track = placed.track
    and stints.nth = placed.nth
inner join dated_events as events on events.event_key = placed.event_key
