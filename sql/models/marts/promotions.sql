-- grain: One row per promotion: one change of title at one organisation that is clearly a rise and was not taken back.
-- key: organization_id, promoted_at, profile_id, event_key
-- purpose: Who was promoted, from what to what, after how long, and by which rule.
-- incremental_by: profile_id
-- note: These are the rows of title_changes labelled promotion (src/titles/compare.ts decides the label), without flips. Less
-- note: clear changes are left out rather than guessed. Tables about organisations count only those that are primary.
-- partition: year of promoted_at
-- values: source: title_change | joined
-- values: level: intern | entry | mid | senior | lead | manager | director | vp | cxo | unknown
-- values: previous_level: intern | entry | mid | senior | lead | manager | director | vp | cxo | unknown
-- references: event_key -> title_changes.event_key
-- columns:
--   organization_id: The organisation where the person was promoted.
--   promoted_at: When the title changed, UTC. Often known to the month only: then it is the first of that month.
--   promoted_on: The day of promoted_at, UTC.
--   week_start_on: The Monday of the week of promoted_at, UTC.
--   month_start_on: First day of the month of promoted_at, UTC.
--   profile_id: The service's stable id of the person.
--   stint_number: The stint in which the change happened.
--   title: The new title as written.
--   event_key: event_key of the title_change, or of the joined event of a person who was already there; unique.
--   source: title_change, or joined for a joining of a person who was already there.
--   person_full_name: The person's full name as written.
--   person_network_url: The newest known address of the person's public page, as sent; null when none is known.
--   organization_name: The organisation's name as written.
--   previous_title: The previous title as written.
--   previous_level: Level of previous_title: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   level: Level of title, as for previous_level.
--   previous_rank: Rank of previous_title, which orders levels and the steps inside a level.
--   rank: Rank of title.
--   was_management: Whether previous_title manages people.
--   is_management: Whether title manages people.
--   previous_function: Field of work of previous_title; other where it names none, unknown where it is not understood.
--   function: Field of work of title, as for previous_function.
--   rule: The rule by which the change counts as a promotion.
--   confidence: How likely the change is a promotion, 0 to 1.
--   is_primary: False where the new title is a side role: a change from adviser to board member does not count as a career step at the organisation.
--   months_in_previous_title: Whole months with previous_title, including flips that led back to it; null when its start was not seen.
--   months_in_previous_title_min: The fewest months that the precision of the dates allows.
--   months_in_previous_title_max: The most months that the precision of the dates allows.
--   precision: How well promoted_at is known: day, month (then it is the first of the month), year (1 January, which may stand for the year), or unknown where the date sent is implausible: then it is the time of detection.
--   was_announced: True where the promotion was announced before it happened: promoted_at is after detected_at. It stays true afterwards.
--   detected_at: When the service had seen the change, UTC; for a joining, also that the person was there.
--   known_at: When the service first knew of the change, UTC, whatever corrections followed; for a joining, also of the previous title.
--   detection_lag_days: Whole days from the change to its detection, as sent with the event.
--   first_seen_at: When the change was first received, UTC; for a joining, also the previous title.
select
    organization_id,
    changed_at as promoted_at,
    changed_on as promoted_on,
    week_start_on,
    month_start_on,
    profile_id,
    stint_number,
    title,
    event_key,
    source,
    person_full_name,
    person_network_url,
    organization_name,
    previous_title,
    previous_level,
    level,
    previous_rank,
    rank,
    was_management,
    is_management,
    previous_function,
    function,
    rule,
    confidence,
    is_primary,
    months_in_previous_title,
    months_in_previous_title_min,
    months_in_previous_title_max,
    precision,
    was_announced,
    detected_at,
    known_at,
    detection_lag_days,
    first_seen_at
from title_changes
where label = 'promotion' and not is_flip and (was_primary or not is_primary)
