-- grain: One row per event and track of a person at an organisation where only rules can tell what a stint is.
-- key: event_key, track
-- purpose: Places the events of ambiguous_facts in the person's stints there, and marks the roles inside a stint.
-- incremental_by: profile_id
-- note: The rules apply to each track on its own, after repeated facts are removed:
-- note: 1. A left event ends only a role, and the stint continues, where the person has another role: the event names a title
-- note:    that was seen before their last joining there, that joining named another title, and the first title was not seen
-- note:    since and was not left more than 31 days before that joining. The same holds for the title before a change of title
-- note:    at most 31 days ago, and for a left event at most 31 days after a person joined who was already there (the new role
-- note:    was seen before the old one ended), unless the event names the new role but not the old one. A joining of a person
-- note:    who is already there begins a role.
-- note: 2. A left event and a joined event at most 31 days later are an internal move, or a leaving that was taken back: the
-- note:    stint continues. After a longer absence the joining begins another stint.
-- note: 3. A joining of a person who is already there begins another stint if they had another job in between: they joined and
-- note:    left elsewhere, at least 180 days apart, and that leaving is as near to this joining as a move requires. The leaving
-- note:    here was not seen.
-- note: 4. The last of several leavings at most 62 days apart counts. Leavings further apart with nothing in between show that
-- note:    the person had come back. So does a change of title more than 31 days after a leaving: it belongs to another stint,
-- note:    whose joining was not seen. A change of title up to 31 days after a leaving takes the leaving back, unless the
-- note:    leaving names the title that it leads to: then the change was reported late.
-- note: 5. A joining at most 31 days after a change of title that begins a stint is the arrival of that stint.
-- note: 6. A joining of a main job elsewhere proves a leaving here if it is as near to it as a move requires. A change of title
-- note:    here up to a year after that leaving was reported late if the person is still elsewhere; so was a leaving more than
-- note:    62 days after it that names nothing else. A person who joined and left elsewhere during an absence of at most 31
-- note:    days was really away, as was one who joined a main job elsewhere on a day that lies inside it for certain. A
-- note:    leaving of the title before the last change of title ends the stint where it is the last event here.
-- note: 7. Where a leaving names the role that the person came with, and an earlier leaving names the role they joined later,
-- note:    with no other event in between, the stint ends with the later leaving, unless a joining elsewhere proves the earlier
-- note:    one: a joining proves the nearer leaving.
-- note: 8. A leaving up to a year after another repeats it where it names a title that became known in between: by a change dated
-- note:    before the first leaving and detected after it (if the leavings are more than 62 days apart), or by a change dated after
-- note:    it, if a joining elsewhere proves the first leaving, at an employer that the person has not left. Such a change was
-- note:    reported late.
-- note: After a change of title that ended the job (to a side role, or Retired), a later leaving adds nothing. Neither does such
-- note: a change up to a year after a leaving.
-- values: track: main | side
-- values: event_type: joined | left | title_change | nothing
-- values: part: arrival | departure | interruption | role_start | role_end | repeat | title_change
-- references: event_key -> job_change_events.event_key
-- columns:
--   event_key: Stable hash of the event's natural key.
--   track: main, or side for board members, advisers and the like; each has its own stints.
--   is_second: True for the part of a change of title between a main job and a side role that concerns the side role.
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   stint_number: The stint the event belongs to: 1 for the person's first at the organisation, then 2, 3, …
--   previous_stint_number: The previous stint of the same track, main or side; null for the first.
--   part: The role of the event in the stint: arrival (begins it), departure (ends it), interruption (left and joined inside it, not a leaving), role_start (joined while there), role_end (left while another role continues, or taken back), repeat (reported before, or again later), title_change.
--   partner_event_key: For an interruption, the event_key of the other of the two events; else null.
--   event_type: The effect of the event on the track: joined, left, title_change, or nothing, as in ambiguous_facts.
--   changed_at: When the change took effect, UTC, never earlier than the previous event; see ambiguous_facts.
--   detected_at: When the service saw the change, UTC.
--   detection_lag_days: Whole days from the change to its detection, as sent.
--   first_seen_at: When the event was first received, UTC.
--   person_full_name: The person's full name as written.
--   organization_name: The organisation's name as written.
--   ladder: The ladder by which the organisation's titles are read: standard, or its own.
--   title: The title after the change as written; for left, the title that was left.
--   previous_title: The title before the change as written.
with

timeline as (
    select event_key, profile_id, organization_id, track, position, event_type, changed_at, title, previous_title, is_turn, fact
    from ambiguous_facts
    where counts
),

involved as (
    select distinct profile_id
    from timeline
),

-- Joinings and leavings of main jobs at employers, for all organisations of these people.
boundaries as (
    select
        events.profile_id,
        events.organization_id,
        events.event_type,
        events.changed_at,
        coalesce(titles.is_held_beside, false) as is_held_beside
    from dated_events as events
    inner join involved on involved.profile_id = events.profile_id
    left join titles on titles.ladder = events.ladder and titles.title = events.title
    left join pseudo_employers as pseudo on pseudo.name = plain_name(events.organization_name)
    where
        events.event_type in ('joined', 'left')
        and not coalesce(titles.is_side_role or titles.is_end_marker, false)
        and pseudo.name is null
),

-- Each joining, and the first leaving there after it.
jobs_left as (
    select
        profile_id,
        organization_id,
        event_type,
        is_held_beside,
        changed_at as joined_at,
        min(case when event_type = 'left' then changed_at end) over (
            partition by profile_id, organization_id order by changed_at, event_type
            rows between current row and unbounded following
        ) as left_at
    from boundaries
),

jobs as (
    select profile_id, organization_id, is_held_beside, joined_at, left_at
    from jobs_left
    where event_type = 'joined'
),

-- Rule 6: a leaving of the main job that a joining elsewhere proves, as near to it as a move requires.
proofs as (
    select leavings.event_key, leavings.changed_at, jobs.joined_at, jobs.left_at
    from timeline as leavings
    inner join jobs on jobs.profile_id = leavings.profile_id and jobs.organization_id <> leavings.organization_id
    where
        leavings.event_type = 'left'
        and leavings.track = 'main'
        and days_between(leavings.changed_at, jobs.joined_at) between -31 and 180
),

-- The facts known before each leaving that names a title: the last joining, the first and last time the title was seen, the
-- last leaving that named it, and the last joining or change of title.
said_before as (
    select
        leavings.event_key,
        leavings.profile_id,
        leavings.organization_id,
        leavings.track,
        leavings.position,
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
        leavings.event_key, leavings.profile_id, leavings.organization_id, leavings.track, leavings.position, leavings.title,
        leavings.changed_at
),

-- Rule 7: the role that the person came with outlasts the one they joined later and left first.
outlasting as (
    select distinct said_before.event_key, said_before.track
    from said_before
    inner join timeline as joinings
        on joinings.profile_id = said_before.profile_id
        and joinings.organization_id = said_before.organization_id
        and joinings.track = said_before.track
        and joinings.position = said_before.joined_position
    inner join timeline as newest
        on newest.profile_id = said_before.profile_id
        and newest.organization_id = said_before.organization_id
        and newest.track = said_before.track
        and newest.position = said_before.newest_position
    inner join timeline as earlier
        on earlier.profile_id = said_before.profile_id
        and earlier.organization_id = said_before.organization_id
        and earlier.track = said_before.track
        and earlier.position > said_before.newest_position
        and earlier.position < said_before.position
    left join proofs
        on proofs.event_key = earlier.event_key
        and proofs.joined_at <= said_before.changed_at
        and abs(days_between(earlier.changed_at, proofs.joined_at)) < days_between(proofs.joined_at, said_before.changed_at)
    where
        earlier.event_type = 'left'
        and joinings.title <> said_before.title
        and said_before.first_position < said_before.joined_position
        and coalesce(said_before.last_position, 0) < said_before.joined_position
        and said_before.left_position is null
        and coalesce(earlier.title in (joinings.title, newest.title), true)
        and proofs.event_key is null
),

-- Rule 6: the last event here, followed at once by a move elsewhere.
proven_ends as (
    select distinct proofs.event_key
    from proofs
    inner join timeline as leavings on leavings.event_key = proofs.event_key and leavings.track = 'main'
    inner join (
        select profile_id, organization_id, max(position) as position
        from timeline
        where track = 'main'
        group by profile_id, organization_id
    ) as lasts
        on lasts.profile_id = leavings.profile_id
        and lasts.organization_id = leavings.organization_id
        and lasts.position = leavings.position
    where days_between_dates(latest_date(proofs.changed_at), utc_date(proofs.joined_at)) <= 31
),

-- Rule 1, by the titles.
named_role_ends as (
    select said_before.event_key, said_before.track
    from said_before
    left join outlasting on outlasting.event_key = said_before.event_key and outlasting.track = said_before.track
    left join proven_ends on proven_ends.event_key = said_before.event_key and said_before.track = 'main'
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
            and outlasting.event_key is null
            and said_before.first_position < said_before.joined_position
            and coalesce(said_before.last_position, 0) < said_before.joined_position
            -- A role that had ended before the person came back cannot end again.
            and not coalesce(
                said_before.left_position > coalesce(said_before.last_position, 0)
                and days_between(said_before.left_at, joinings.changed_at) > 31,
                false
            )
        )
        or (
            newest.event_type = 'title_change'
            and proven_ends.event_key is null
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
        timeline.is_turn,
        timeline.fact,
        lag(timeline.event_type) over sequence as before_type,
        lag(timeline.changed_at) over sequence as before_at,
        lag(timeline.title) over sequence as before_title,
        lag(timeline.event_type, 2) over sequence as earlier_type,
        lag(timeline.title, 2) over sequence as earlier_title
    from timeline
    left join named_role_ends on named_role_ends.event_key = timeline.event_key and named_role_ends.track = timeline.track
    where named_role_ends.event_key is null
    window sequence as (partition by timeline.profile_id, timeline.organization_id, timeline.track order by timeline.position)
),

-- Rule 1, by the days.
not_overlapping as (
    select event_key, profile_id, organization_id, track, position, event_type, changed_at, title, is_turn, fact
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
        boundaries.event_key,
        boundaries.profile_id,
        boundaries.organization_id,
        boundaries.track,
        boundaries.position,
        boundaries.event_type,
        boundaries.changed_at,
        boundaries.title,
        boundaries.fact,
        boundaries.is_turn or outlasting.event_key is not null as is_special,
        lag(boundaries.event_key) over sequence as before_key,
        lag(boundaries.event_type) over sequence as before_type,
        lag(boundaries.title) over sequence as before_title,
        max(case when boundaries.event_type <> 'title_change' then boundaries.position end) over (
            partition by boundaries.profile_id, boundaries.organization_id, boundaries.track order by boundaries.position
            rows between unbounded preceding and 1 preceding
        ) as end_position,
        coalesce(
            boundaries.event_type = 'left' and lag(boundaries.event_type) over sequence = 'left'
            and outlasting.event_key is null
            and (
                (
                    lag(boundaries.is_turn) over sequence
                    and days_between(lag(boundaries.changed_at) over sequence, boundaries.changed_at) > 62
                )
                or (
                    boundaries.is_turn and not lag(boundaries.is_turn) over sequence
                    and days_between(lag(boundaries.changed_at) over sequence, boundaries.changed_at) <= 365
                )
            ),
            false
        ) as is_left_before,
        coalesce(
            boundaries.event_type = 'left' and lag(boundaries.event_type) over sequence = 'left'
            and outlasting.event_key is null
            and coalesce(lag(boundaries.title) over sequence = boundaries.title, true)
            and days_between(lag(boundaries.changed_at) over sequence, boundaries.changed_at) between 63 and 365,
            false
        ) as may_be_left_before,
        coalesce(
            boundaries.event_type = 'left' and lead(boundaries.event_type) over sequence = 'left'
            and (
                (
                    days_between(boundaries.changed_at, lead(boundaries.changed_at) over sequence) <= 62
                    and (boundaries.is_turn or not lead(boundaries.is_turn) over sequence)
                )
                or lead(outlasting.event_key) over sequence is not null
            ),
            false
        ) as is_left_again
    from not_overlapping as boundaries
    left join outlasting on outlasting.event_key = boundaries.event_key and outlasting.track = boundaries.track
    window sequence as (
        partition by boundaries.profile_id, boundaries.organization_id, boundaries.track order by boundaries.position
    )
),

-- Each leaving, and the leaving before it without a joining between.
repeated as (
    select
        leavings.event_key,
        leavings.profile_id,
        leavings.organization_id,
        leavings.track,
        leavings.changed_at,
        leavings.title,
        leavings.before_type,
        leavings.before_title,
        leavings.may_be_left_before,
        earlier.event_key as earlier_key,
        earlier.position as earlier_position,
        earlier.changed_at as earlier_at,
        earlier.title as earlier_title,
        leavings.is_special or earlier.is_special as is_special,
        days_between(earlier.changed_at, leavings.changed_at) as days
    from followed as leavings
    inner join followed as earlier
        on earlier.profile_id = leavings.profile_id
        and earlier.organization_id = leavings.organization_id
        and earlier.track = leavings.track
        and earlier.position = leavings.end_position
    where leavings.event_type = 'left' and earlier.event_type = 'left'
),

-- Rules 6 and 8: leavings reported long afterwards.
left_before as (
    select event_key, track
    from followed
    where is_left_before
    union
    -- Of a person who has been elsewhere since: again (6), or under a title that became known between (8).
    select repeated.event_key, repeated.track
    from repeated
    inner join proofs
        on proofs.event_key = repeated.earlier_key
        and coalesce(proofs.left_at >= repeated.changed_at, true)
        and abs(days_between(repeated.earlier_at, proofs.joined_at))
        < abs(days_between(proofs.joined_at, repeated.changed_at))
    where
        repeated.track = 'main'
        and (
            repeated.may_be_left_before
            or (
                repeated.before_type = 'title_change'
                and not repeated.is_special
                and coalesce(repeated.title in (repeated.before_title, repeated.earlier_title), true)
                and repeated.days <= 365
            )
        )
    union
    -- Rule 8, under a title whose change is dated before the first leaving and became known after it.
    select repeated.event_key, repeated.track
    from repeated
    inner join timeline as changes
        on changes.profile_id = repeated.profile_id
        and changes.organization_id = repeated.organization_id
        and changes.track = repeated.track
        and changes.title = repeated.title
        and changes.previous_title = repeated.earlier_title
    inner join dated_events as change_events on change_events.event_key = changes.event_key
    inner join dated_events as earlier_events on earlier_events.event_key = repeated.earlier_key
    where
        repeated.before_type = 'left'
        and not repeated.is_special
        and changes.event_type = 'title_change'
        and changes.position < repeated.earlier_position
        and change_events.detected_at > earlier_events.detected_at
        and days_between(changes.changed_at, repeated.earlier_at) <= 365
        and repeated.days between 63 and 365
),

-- The last leaving before each change of title, without a joining between.
after_leaving as (
    select
        followed.event_key,
        followed.profile_id,
        followed.organization_id,
        followed.track,
        followed.position,
        followed.event_type,
        followed.changed_at,
        followed.title,
        followed.fact,
        max(case when followed.event_type = 'left' then followed.position end) over before as left_position,
        max(case when followed.event_type = 'joined' then followed.position end) over before as joined_position,
        min(case when followed.event_type <> 'title_change' then followed.position end) over after as next_position
    from followed
    left join left_before on left_before.event_key = followed.event_key and left_before.track = followed.track
    where not followed.is_left_again and left_before.event_key is null
    window
        before as (
            partition by followed.profile_id, followed.organization_id, followed.track order by followed.position
            rows between unbounded preceding and 1 preceding
        ),
        after as (
            partition by followed.profile_id, followed.organization_id, followed.track order by followed.position
            rows between 1 following and unbounded following
        )
),

-- Rule 4: a title that the leaving names, reported a little late. Rule 6: a title reported of a person who has been elsewhere
-- since.
told_late as (
    select distinct changes.event_key, changes.track
    from after_leaving as changes
    inner join after_leaving as leavings
        on leavings.profile_id = changes.profile_id
        and leavings.organization_id = changes.organization_id
        and leavings.track = changes.track
        and leavings.position = changes.left_position
    left join after_leaving as next_ends
        on next_ends.profile_id = changes.profile_id
        and next_ends.organization_id = changes.organization_id
        and next_ends.track = changes.track
        and next_ends.position = changes.next_position
    left join proofs
        on proofs.event_key = leavings.event_key
        and changes.track = 'main'
        and (proofs.left_at is null or proofs.left_at >= changes.changed_at or proofs.joined_at > changes.changed_at)
    where
        changes.event_type = 'title_change'
        and changes.left_position > coalesce(changes.joined_position, 0)
        and (
            (leavings.title = changes.title and days_between(leavings.changed_at, changes.changed_at) <= 31)
            or (
                proofs.event_key is not null
                and days_between(leavings.changed_at, changes.changed_at) <= 365
                and coalesce(
                    next_ends.event_type <> 'left' and days_between(changes.changed_at, next_ends.changed_at) > 31, true
                )
            )
        )
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
    left join told_late on told_late.event_key = steps.event_key and told_late.track = steps.track
    where told_late.event_key is null
    window sequence as (partition by steps.profile_id, steps.organization_id, steps.track order by steps.position)
),

near as (
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
        ) as is_back_soon
    from in_time
    where not is_taken_back
    window sequence as (partition by profile_id, organization_id, track order by position)
),

-- Rule 6: a person who joined elsewhere while away was really away, for however short a time: they left there before they came
-- back, or certainly joined between the two days.
worked_briefly as (
    select distinct here.event_key
    from near as here
    inner join jobs on jobs.profile_id = here.profile_id and jobs.organization_id <> here.organization_id
    where
        here.is_back_soon
        and here.track = 'main'
        and (
            (
                days_between(here.before_at, jobs.joined_at) >= -31
                and utc_date(jobs.joined_at) <= latest_date(here.changed_at)
                and latest_date(jobs.left_at) >= utc_date(here.before_at)
                and utc_date(jobs.left_at) <= latest_date(here.changed_at)
            )
            or (
                utc_date(jobs.joined_at) >= latest_date(here.before_at)
                and latest_date(jobs.joined_at) < utc_date(here.changed_at)
                and not jobs.is_held_beside
            )
        )
),

neighbours as (
    select
        near.event_key,
        near.profile_id,
        near.organization_id,
        near.track,
        near.position,
        near.event_type,
        near.changed_at,
        near.fact,
        near.before_key,
        near.before_type,
        near.before_at,
        near.is_back_soon and worked_briefly.event_key is null as resumes
    from near
    left join worked_briefly on worked_briefly.event_key = near.event_key and near.track = 'main'
),

-- Rule 3: joined and, at least 180 days later, left elsewhere, between the last event here and joining here again.
worked_elsewhere as (
    select distinct here.event_key
    from neighbours as here
    inner join boundaries as joined_there
        on joined_there.profile_id = here.profile_id
        and joined_there.organization_id <> here.organization_id
        and joined_there.changed_at > here.before_at
    inner join boundaries as left_there
        on left_there.profile_id = joined_there.profile_id
        and left_there.organization_id = joined_there.organization_id
    where
        here.event_type = 'joined'
        and here.before_type <> 'left'
        and here.track = 'main'
        and joined_there.event_type = 'joined'
        and left_there.event_type = 'left'
        and days_between(joined_there.changed_at, left_there.changed_at) >= 180
        and days_between(left_there.changed_at, here.changed_at) between -31 and 180
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
    left join worked_elsewhere on worked_elsewhere.event_key = neighbours.event_key and neighbours.track = 'main'
),

-- Rule 5: a change of title just before a joining does not show that the person was there.
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

-- Leavings that a later one replaces, further apart than repeated leavings.
outlasted as (
    select earlier.event_key, earlier.track
    from followed as earlier
    inner join followed as later
        on later.profile_id = earlier.profile_id
        and later.organization_id = earlier.organization_id
        and later.track = earlier.track
        and later.before_key = earlier.event_key
    inner join outlasting on outlasting.event_key = later.event_key and outlasting.track = later.track
    where earlier.event_type = 'left'
),

-- Every event of the ambiguous pairs; a stint begins with the first report of the fact that begins it.
placed as (
    select
        facts.event_key,
        facts.profile_id,
        facts.organization_id,
        facts.track,
        facts.is_second,
        facts.event_type,
        facts.changed_at,
        facts.title,
        facts.previous_title,
        coalesce(
            parts.part,
            case
                when facts.event_type = 'title_change' then 'title_change'
                when
                    facts.counts and facts.event_type = 'left' and left_before.event_key is null
                    and (outlasted.event_key is not null or not coalesce(followed.is_left_again, false))
                    then 'role_end'
                else 'repeat'
            end
        ) as part,
        parts.partner_event_key,
        -- Events before all stint starts belong to the first stint.
        greatest(
            1,
            sum(case when coalesce(starts.starts_stint, false) and facts.is_first_saying then 1 else 0 end) over (
                partition by facts.profile_id, facts.organization_id, facts.track order by facts.position
                rows between unbounded preceding and current row
            )
        ) as nth
    from ambiguous_facts as facts
    left join parts on parts.event_key = facts.event_key and parts.track = facts.track
    left join followed on followed.event_key = facts.event_key and followed.track = facts.track
    left join left_before on left_before.event_key = facts.event_key and left_before.track = facts.track
    left join outlasted on outlasted.event_key = facts.event_key and outlasted.track = facts.track
    left join parts as starts
        on starts.profile_id = facts.profile_id
        and starts.organization_id = facts.organization_id
        and starts.track = facts.track
        -- One term that can be hashed: `or` would compare every event with every other. A change of title belongs to no fact.
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
    placed.track,
    placed.is_second,
    placed.profile_id,
    placed.organization_id,
    cast(stints.stint_number as integer) as stint_number,
    cast(stints.previous_stint_number as integer) as previous_stint_number,
    placed.part,
    placed.partner_event_key,
    placed.event_type,
    placed.changed_at,
    events.detected_at,
    events.detection_lag_days,
    events.first_seen_at,
    events.person_full_name,
    events.organization_name,
    events.ladder,
    placed.title,
    placed.previous_title
from placed
inner join stints
    on stints.profile_id = placed.profile_id
    and stints.organization_id = placed.organization_id
    and stints.track = placed.track
    and stints.nth = placed.nth
inner join dated_events as events on events.event_key = placed.event_key
