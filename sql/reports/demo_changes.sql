-- The joiners, leavers and promotions, as a report counts them, from the events that a run received first, the newest first.
with changes as (
    select 'joined' as what, event_key, person_full_name as person, organization_name as organization, title, detected_at
    from joiners
    where is_primary and not is_transfer
    union all
    select 'left' as what, event_key, person_full_name, organization_name, title, detected_at
    from leavers
    where is_primary and not is_transfer
    union all
    select
        'promoted' as what,
        event_key,
        person_full_name,
        organization_name,
        previous_title || ' → ' || title,
        detected_at
    from promotions
    where is_primary
)

select changes.what, changes.person, changes.organization, changes.title
from changes
join job_change_events as events on events.event_key = changes.event_key
where events.first_run_id = $run_id
order by changes.detected_at desc, changes.event_key
