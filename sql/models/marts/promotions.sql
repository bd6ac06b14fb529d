-- grain: One row per promotion: one title_change event whose title is clearly more senior than the one before.
-- key: organization_id, promoted_at, profile_id, title
-- purpose: Who was promoted, from what to what, and by which rule.
-- note: A promotion needs both titles understood and a rank that rises by 3 or more (config/titles.json says what the ranks
-- note: are). Anything less is lateral, another wording of one job, or not known, and is left out rather than guessed.
-- partition: year of promoted_at
-- columns:
--   organization_id: The organisation where the person was promoted.
--   promoted_at: When the title changed, UTC. Often known to the month only: then the first of that month.
--   profile_id: The service's stable id of the person.
--   title: The new title as written.
--   event_key: event_key of the title change in job_change_events; unique.
--   person_full_name: The person's full name as written.
--   organization_name: The organisation's name as written.
--   previous_title: The title before as written.
--   previous_level: Level of previous_title: intern, entry, mid, senior, lead, manager, director, vp or cxo.
--   level: Level of title, as for previous_level.
--   previous_rank: Rank of previous_title.
--   rank: Rank of title, at least 3 above previous_rank.
--   was_management: Whether previous_title manages people.
--   is_management: Whether title manages people.
--   rule: Why it counts: into_management, level_up, or step_within_level such as Vice President to Senior Vice President.
--   detected_at: When the service saw the change, UTC.
--   detection_lag_days: Whole days between the change and its detection, as sent.
--   first_seen_at: When the event was first received, UTC.
select
    organization_id,
    changed_at as promoted_at,
    profile_id,
    title,
    event_key,
    person_full_name,
    organization_name,
    previous_title,
    previous_level,
    level,
    previous_rank,
    rank,
    was_management,
    is_management,
    case
        when is_management and not was_management then 'into_management'
        when level <> previous_level then 'level_up'
        else 'step_within_level'
    end as rule,
    detected_at,
    detection_lag_days,
    first_seen_at
from stg_job_change_events
where event_type = 'title_change' and rank - previous_rank >= 3
