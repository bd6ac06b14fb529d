-- grain: One row per change of title of a person at one organisation.
-- key: event_key
-- purpose: Who changed title, from what to what, after how long, and whether it was a promotion.
-- incremental_by: profile_id
-- note: title_steps defines a change of title; title_pairs says whether it is a promotion, with which rule and how sure, by the
-- note: rules of src/titles/compare.ts.
-- partition: year of changed_at
-- columns:
--   event_key: event_key of the title_change, or of the joined event of a person who was already there.
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   stint_number: The stint in which the change happened.
--   person_full_name: The person's full name as written.
--   person_network_url: The newest known address of the person's public page, as sent; null when none is known.
--   organization_name: The organisation's name as written.
--   changed_at: When the title changed, UTC. Often known to the month only: then it is the first of that month.
--   changed_on: The day of changed_at, UTC.
--   week_start_on: The Monday of the week of changed_at, UTC.
--   month_start_on: First day of the month of changed_at, UTC.
--   source: title_change, or joined for a joining of a person who was already there.
--   label: promotion (clearly up), demotion (clearly down), lateral (another role at about the same level), retitle (the same job in other words), or unclassified.
--   rule: The rule that set the label.
--   confidence: How likely the label is right, 0 to 1; 0 where the label is unclassified.
--   is_flip: True where the change undoes the one before within 60 days, or is undone by the next.
--   is_primary: False where the new title is a side role such as board member or adviser.
--   was_primary: False where the previous title is a side role.
--   previous_title: The previous title as written; null when not known.
--   title: The new title as written.
--   previous_level: Level of previous_title: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   level: Level of title, as for previous_level.
--   previous_rank: Rank of previous_title, which orders levels and the steps inside a level; null when unknown.
--   rank: Rank of title; null when unknown.
--   was_management: Whether previous_title manages people; null when unknown.
--   is_management: Whether title manages people; null when unknown.
--   previous_function: Field of work of previous_title; other where it names none, unknown where it is not understood.
--   function: Field of work of title, as for previous_function.
--   previous_step_at: When the person came to previous_title, UTC; null when not seen.
--   months_in_previous_title: Whole months with previous_title, including flips that led back to it; null when its start was not seen.
--   months_in_previous_title_min: The fewest months that the precision of the dates allows.
--   months_in_previous_title_max: The most months that the precision of the dates allows.
--   precision: How well changed_at is known: day, month (then it is the first of the month), year (1 January, which may stand for the year), or unknown where the date sent is implausible: then it is the time of detection.
--   was_announced: True where the change was announced before it happened: changed_at is after detected_at. It stays true afterwards.
--   detected_at: When the service had seen the change, UTC; for a joining, also that the person was there.
--   known_at: When the service first knew of the change, UTC, whatever corrections followed; for a joining, also of the previous title.
--   detection_lag_days: Whole days from the change to its detection, as sent with the event.
--   first_seen_at: When the change was first received, UTC; for a joining, also the previous title.
select
    steps.event_key,
    steps.profile_id,
    steps.organization_id,
    steps.stint_number,
    steps.person_full_name,
    pages.person_network_url,
    steps.organization_name,
    steps.changed_at,
    utc_date(steps.changed_at) as changed_on,
    week_start(steps.changed_at) as week_start_on,
    month_start(steps.changed_at) as month_start_on,
    steps.source,
    coalesce(pairs.label, 'unclassified') as label,
    coalesce(pairs.rule, 'title_not_known') as rule,
    coalesce(pairs.confidence, 0) as confidence,
    steps.is_flip,
    not coalesce(understood.is_side_role, false) as is_primary,
    not coalesce(previous.is_side_role, false) as was_primary,
    steps.previous_title,
    steps.title,
    coalesce(previous.level, 'unknown') as previous_level,
    coalesce(understood.level, 'unknown') as level,
    previous.rank as previous_rank,
    understood.rank,
    previous.is_management as was_management,
    understood.is_management,
    coalesce(previous.function, 'unknown') as previous_function,
    coalesce(understood.function, 'unknown') as function,
    steps.previous_step_at,
    whole_months(utc_date(steps.previous_step_at), utc_date(steps.changed_at)) as months_in_previous_title,
    case
        when steps.previous_step_at is not null
            then greatest(0, whole_months(latest_date(steps.previous_step_at), utc_date(steps.changed_at)))
    end as months_in_previous_title_min,
    whole_months(utc_date(steps.previous_step_at), latest_date(steps.changed_at)) as months_in_previous_title_max,
    case when events.precision = 'unknown' then 'unknown' else date_precision(steps.changed_at) end as precision,
    steps.changed_at > steps.detected_at as was_announced,
    steps.detected_at,
    steps.known_at,
    steps.detection_lag_days,
    steps.first_seen_at
from title_steps as steps
left join dated_events as events on events.event_key = steps.event_key
left join title_pairs as pairs
    on pairs.ladder = steps.ladder
    and pairs.previous_title = steps.previous_title
    and pairs.title = steps.title
left join titles as previous
    on previous.ladder = steps.ladder
    and previous.title = steps.previous_title
left join titles as understood
    on understood.ladder = steps.ladder
    and understood.title = steps.title
left join person_pages as pages on pages.profile_id = steps.profile_id
