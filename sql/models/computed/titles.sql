-- grain: One row per ladder and distinct title of an event, including the earlier titles of a corrected event.
-- key: ladder, title
-- purpose: How each title is understood: level, field of work, role, and how sure that is.
-- columns:
--   ladder: The ladder that reads the title: standard, or the name of one in config/ladders.yaml.
--   title: The title as written.
--   level: intern, entry, mid, senior, lead, manager, director, vp, cxo, or unknown where the title does not say.
--   level_order: level as a number, 1 (intern) to 9 (cxo); null when unknown.
--   rank: Seniority as a number from 0 to 99, which also orders the steps inside a level; null when unknown.
--   is_management: Whether the title manages people; null when unknown.
--   function: Field of work: engineering, product, design, data, it, marketing, sales, customer_success, finance, hr, legal, operations, supply_chain, research, education, healthcare, administration, consulting, general_management; other when the title names none, unknown when it is not understood.
--   core: The role without level, team and place, in English words where known; null when none is seen.
--   office: The office, where level is cxo: one for CEO, President & CEO and Interim CEO, another for Deputy CEO, and another for CEO, EMEA; null otherwise.
--   is_interim: Whether the post is held for the time being: interim, acting.
--   is_side_role: Whether the title is a role alongside a main job: board member, outside adviser, investor, mentor, volunteer.
--   is_advisory: Whether the title may be outside advice: a side role such as Advisor, or a title such as Technical Advisor that may be a job.
--   is_end_marker: Whether the title says that the job or career is over, or that the person has no job, and names no other main job: Retired, Former CFO, Open to work.
--   is_seat_of_staff: Whether the title is a side role that only the staff of the organisation can have: on its works council, or of a union.
--   is_held_beside: Whether people hold such a job alongside another one: part-time, as a guest, on loan, in the reserve.
--   rule: The rule that decided the level.
--   confidence: How likely the level is right, 0 to 1; 0 when unknown.
--   taxonomy_version: Version of the taxonomy that set the label; a new version labels every title again.
with

written as (
    select organization_id, title_current as title from job_change_events
    union all
    select organization_id, title_previous as title from job_change_events
    union all
    select organization_id, title_current as title from job_change_event_versions
    union all
    select organization_id, title_previous as title from job_change_event_versions
)

select 'standard' as ladder, title_current as title from job_change_events where title_current is not null
union
select 'standard' as ladder, title_previous as title from job_change_events where title_previous is not null
union
select 'standard' as ladder, title_current as title from job_change_event_versions where title_current is not null
union
select 'standard' as ladder, title_previous as title from job_change_event_versions where title_previous is not null
union
select own.ladder, written.title
from written
inner join organization_ladders as own on own.organization_id = written.organization_id
where written.title is not null
