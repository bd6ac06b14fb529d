-- grain: One row per change of title of a person at one organisation.
-- key: event_key
-- purpose: Each change of title with its date and the start of the title before it. Labels are in title_changes.
-- incremental_by: profile_id
-- note: A step is a title_change event, or a joined event of a person who was already there (see ambiguous_events) that names
-- note: another title than the one before: that of the leaving of an internal move, else the last one known. Successive steps
-- note: to the same title at most 62 days apart repeat one step: the one detected last counts. So does a change that was detected
-- note: later and leads from the same title to another on the same day: it corrects the title.
-- note: A title taken back within 60 days was a slip or a correction: both steps are flips. In a longer back-and-forth, steps
-- note: pair off as flips from the first on, so that the last step of three still counts. The time with a title continues
-- note: through flips that lead back to it.
-- values: source: title_change | joined
-- references: event_key -> job_change_events.event_key
-- columns:
--   event_key: event_key of the title_change, or of the joined event of a person who was already there.
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   stint_number: The stint in which the change happened.
--   source: title_change, or joined for a joining of a person who was already there.
--   changed_at: When the title changed, UTC. Often known to the month only: then it is the first of that month. A change reported up to 31 days after the leaving that names its title has the date of the leaving.
--   previous_title: The title before as written; where neither the event nor the leaving of an internal move names one, the last one known in the stint.
--   title: The new title as written.
--   ladder: The ladder by which the organisation's titles are read: standard, or its own.
--   previous_step_at: When the person came to previous_title, by joining or by the step before, UTC; null when not seen.
--   is_flip: True where the step undoes the one before within 60 days, or is undone by the next.
--   detected_at: When the service had seen the change, UTC; for a joining, also that the person was there.
--   known_at: When the service first knew of the change, UTC, whatever corrections followed; for a joining, also of the previous title.
--   detection_lag_days: Whole days from the change to its detection, as sent with the event.
--   first_seen_at: When the change was first received, UTC; for a joining, also the previous title.
--   person_full_name: The person's full name as written.
--   organization_name: The organisation's name as written.
with

corrected as (
    select
        event_key,
        min(first_detected_at) as first_detected_at
    from event_corrections
    group by event_key
),

-- Joinings of a person who was already there, with the title that the leaving of an internal move names.
role_starts as (
    select
        starts.event_key,
        starts.profile_id,
        starts.organization_id,
        starts.stint_number,
        starts.changed_at,
        starts.title,
        starts.ladder,
        starts.detected_at,
        starts.detection_lag_days,
        starts.first_seen_at,
        starts.person_full_name,
        starts.organization_name,
        partners.title as left_title
    from ambiguous_events as starts
    left join ambiguous_events as partners
        on partners.event_key = starts.partner_event_key and partners.track = starts.track
    where
        starts.event_type = 'joined'
        and starts.part in ('interruption', 'role_start')
        and starts.title is not null
),

-- The changes that do not name the title before.
forgetful as (
    select event_key, profile_id, organization_id, stint_number, changed_at, detected_at
    from stint_events
    where part = 'title_change' and previous_title is null
    union all
    select event_key, profile_id, organization_id, stint_number, changed_at, detected_at
    from role_starts
    where left_title is null
),

-- The titles in those stints, and the time from which each was held. A leaving names the title that was left.
remembered as (
    select
        event_key,
        profile_id,
        organization_id,
        stint_number,
        acts_as as event_type,
        changed_at as title_at,
        case when acts_as = 'left' then 0 else 1 end as order_in_instant,
        detected_at,
        title
    from stint_events
    where title is not null and part <> 'role_end'
),

-- The last title known before.
recalled as (
    select
        changes.event_key,
        max_by(
            earlier.title, (earlier.title_at, earlier.order_in_instant, earlier.detected_at, earlier.event_key)
        ) as title
    from forgetful as changes
    inner join remembered as earlier
        on earlier.profile_id = changes.profile_id
        and earlier.organization_id = changes.organization_id
        and earlier.stint_number = changes.stint_number
    where
        earlier.event_key <> changes.event_key
        and (
            earlier.title_at < changes.changed_at
            or (earlier.title_at = changes.changed_at and earlier.event_type = 'joined')
            or (
                earlier.title_at = changes.changed_at
                and earlier.event_type = 'title_change'
                and (
                    earlier.detected_at < changes.detected_at
                    or (earlier.detected_at = changes.detected_at and earlier.event_key < changes.event_key)
                )
            )
        )
    group by changes.event_key
),

-- When it became known that a person who joined while there had the title before.
known_before as (
    select
        changes.event_key,
        min(earlier.detected_at) as detected_at,
        min(coalesce(corrected.first_detected_at, earlier.detected_at)) as known_at,
        min(earlier.first_seen_at) as first_seen_at
    from role_starts as changes
    left join recalled on recalled.event_key = changes.event_key
    inner join stint_events as earlier
        on earlier.profile_id = changes.profile_id
        and earlier.organization_id = changes.organization_id
        and earlier.stint_number = changes.stint_number
        and earlier.title = coalesce(changes.left_title, recalled.title)
        and earlier.changed_at <= changes.changed_at
        and earlier.part <> 'role_end'
        and earlier.event_key <> changes.event_key
    left join corrected on corrected.event_key = earlier.event_key
    group by changes.event_key
),

joined_steps as (
    select
        starts.event_key,
        starts.profile_id,
        starts.organization_id,
        starts.stint_number,
        starts.changed_at,
        coalesce(starts.left_title, recalled.title) as previous_title,
        starts.title,
        starts.ladder,
        greatest(starts.detected_at, known_before.detected_at) as detected_at,
        greatest(coalesce(corrected.first_detected_at, starts.detected_at), known_before.known_at) as known_at,
        starts.detection_lag_days,
        greatest(starts.first_seen_at, known_before.first_seen_at) as first_seen_at,
        starts.person_full_name,
        starts.organization_name
    from role_starts as starts
    inner join known_before on known_before.event_key = starts.event_key
    left join recalled on recalled.event_key = starts.event_key
    left join corrected on corrected.event_key = starts.event_key
    -- A service that also sends this step as a change of title reports it twice.
    left join ambiguous_events as changes
        on changes.part = 'title_change'
        and changes.profile_id = starts.profile_id
        and changes.organization_id = starts.organization_id
        and changes.changed_at = starts.changed_at
        and changes.title = starts.title
    where
        coalesce(starts.left_title, recalled.title) <> starts.title
        and changes.event_key is null
),

said as (
    select
        events.event_key,
        events.profile_id,
        events.organization_id,
        events.stint_number,
        'title_change' as source,
        events.changed_at,
        coalesce(events.previous_title, recalled.title) as previous_title,
        events.title,
        events.ladder,
        events.detected_at,
        coalesce(corrected.first_detected_at, events.detected_at) as known_at,
        events.detection_lag_days,
        events.first_seen_at,
        events.person_full_name,
        events.organization_name
    from stint_events as events
    left join recalled on recalled.event_key = events.event_key
    left join corrected on corrected.event_key = events.event_key
    where events.part = 'title_change'
    union all
    select
        event_key,
        profile_id,
        organization_id,
        stint_number,
        'joined' as source,
        changed_at,
        previous_title,
        title,
        ladder,
        detected_at,
        known_at,
        detection_lag_days,
        first_seen_at,
        person_full_name,
        organization_name
    from joined_steps
),

compared as (
    select
        event_key,
        profile_id,
        organization_id,
        stint_number,
        source,
        changed_at,
        previous_title,
        title,
        ladder,
        detected_at,
        known_at,
        detection_lag_days,
        first_seen_at,
        person_full_name,
        organization_name,
        row_number() over sequence as position,
        lag(title) over sequence as title_of_step_before,
        lag(changed_at) over sequence as step_before_at,
        coalesce(
            (lag(title) over sequence = title and days_between(lag(changed_at) over sequence, changed_at) <= 62)
            or (
                lag(previous_title) over sequence = previous_title
                and lag(changed_at) over sequence = changed_at
                and lag(detected_at) over sequence < detected_at
            ),
            false
        ) as is_said_again,
        coalesce(
            lag(title) over sequence = previous_title and lag(previous_title) over sequence = title,
            false
        ) as leads_back
    from said
    window sequence as (
        partition by profile_id, organization_id, stint_number order by changed_at, detected_at, event_key
    )
),

-- In most stints nothing is repeated or undone; only the others need the steps below.
ambiguous_stints as (
    select distinct profile_id, organization_id, stint_number
    from compared
    where is_said_again or leads_back
),

numbered as (
    select
        compared.event_key,
        compared.profile_id,
        compared.organization_id,
        compared.stint_number,
        compared.changed_at,
        compared.previous_title,
        compared.title,
        compared.detected_at,
        sum(case when compared.is_said_again then 0 else 1 end) over (
            partition by compared.profile_id, compared.organization_id, compared.stint_number
            order by compared.position
            rows between unbounded preceding and current row
        ) as step
    from compared
    inner join ambiguous_stints
        on ambiguous_stints.profile_id = compared.profile_id
        and ambiguous_stints.organization_id = compared.organization_id
        and ambiguous_stints.stint_number = compared.stint_number
),

sayings as (
    select
        event_key,
        profile_id,
        organization_id,
        stint_number,
        changed_at,
        previous_title,
        title,
        step,
        row_number() over (
            partition by profile_id, organization_id, stint_number, step
            order by detected_at desc, changed_at desc, event_key desc
        ) as recency
    from numbered
),

steps as (
    select
        event_key,
        profile_id,
        organization_id,
        stint_number,
        step,
        title,
        changed_at,
        lag(title) over sequence as title_of_step_before,
        lag(changed_at) over sequence as step_before_at,
        coalesce(
            lag(title) over sequence = previous_title
            and lag(previous_title) over sequence = title
            and days_between(lag(changed_at) over sequence, changed_at) <= 60,
            false
        ) as undoes_step_before
    from sayings
    where recency = 1
    window sequence as (partition by profile_id, organization_id, stint_number order by step)
),

chained as (
    select
        event_key,
        profile_id,
        organization_id,
        stint_number,
        step,
        title,
        changed_at,
        title_of_step_before,
        step_before_at,
        sum(case when undoes_step_before then 0 else 1 end) over (
            partition by profile_id, organization_id, stint_number order by step
            rows between unbounded preceding and current row
        ) as chain
    from steps
),

measured as (
    select
        event_key,
        profile_id,
        organization_id,
        stint_number,
        step,
        title,
        changed_at,
        title_of_step_before,
        step_before_at,
        row_number() over (partition by profile_id, organization_id, stint_number, chain order by step) as place_in_chain,
        count(*) over (partition by profile_id, organization_id, stint_number, chain) as chain_length
    from chained
),

flipped as (
    select
        event_key,
        profile_id,
        organization_id,
        stint_number,
        step,
        title,
        changed_at,
        title_of_step_before,
        step_before_at,
        chain_length > 1 and not (place_in_chain = chain_length and mod(chain_length, 2) = 1) as is_flip
    from measured
),

-- Flips come in pairs that lead back, so every other step follows the last step that is not a flip.
settled as (
    select
        event_key,
        is_flip,
        case when is_flip then title_of_step_before else lag(title) over sequence end as title_of_step_before,
        case when is_flip then step_before_at else lag(changed_at) over sequence end as step_before_at
    from flipped
    window sequence as (partition by profile_id, organization_id, stint_number, is_flip order by step)
),

unambiguous as (
    select
        numbered.event_key,
        settled.event_key is not null as counts,
        settled.title_of_step_before,
        settled.step_before_at,
        coalesce(settled.is_flip, false) as is_flip
    from numbered
    left join settled on settled.event_key = numbered.event_key
),

counted as (
    select
        compared.event_key,
        compared.profile_id,
        compared.organization_id,
        compared.stint_number,
        compared.source,
        compared.changed_at,
        compared.previous_title,
        compared.title,
        compared.ladder,
        compared.detected_at,
        compared.known_at,
        compared.detection_lag_days,
        compared.first_seen_at,
        compared.person_full_name,
        compared.organization_name,
        case when unambiguous.event_key is null then compared.title_of_step_before else unambiguous.title_of_step_before end
            as title_of_step_before,
        case when unambiguous.event_key is null then compared.step_before_at else unambiguous.step_before_at end
            as step_before_at,
        coalesce(unambiguous.is_flip, false) as is_flip
    from compared
    left join unambiguous on unambiguous.event_key = compared.event_key
    where coalesce(unambiguous.counts, true)
)

select
    steps.event_key,
    steps.profile_id,
    steps.organization_id,
    steps.stint_number,
    steps.source,
    -- A change reported a little late, after the leaving that names the title, had happened by then.
    least(steps.changed_at, stints.left_at) as changed_at,
    steps.previous_title,
    steps.title,
    steps.ladder,
    case
        when steps.step_before_at is not null
            then case when steps.title_of_step_before = steps.previous_title then least(steps.step_before_at, stints.left_at) end
        when stints.first_title = steps.previous_title and stints.joined_at <= steps.changed_at then stints.joined_at
    end as previous_step_at,
    steps.is_flip,
    steps.detected_at,
    steps.known_at,
    steps.detection_lag_days,
    steps.first_seen_at,
    steps.person_full_name,
    steps.organization_name
from counted as steps
left join stints
    on stints.profile_id = steps.profile_id
    and stints.organization_id = steps.organization_id
    and stints.stint_number = steps.stint_number
