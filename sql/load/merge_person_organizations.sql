-- The pairs that this batch touched, computed anew from all their events: the state of a pair depends on its events only,
-- never on the order in which they came. Events of one moment are ordered by detection, then joined before title_change
-- before left, then by key.

create or replace temp table touched_pairs as
select distinct profile_id, organization_id
from staged_events;

delete from person_organizations as pair
using touched_pairs as touched
where pair.profile_id = touched.profile_id and pair.organization_id = touched.organization_id;

insert into person_organizations
with
    events as (
        select
            event.*,
            row_number() over (
                partition by event.profile_id, event.organization_id
                order by
                    event.changed_at desc,
                    event.detected_at desc,
                    case event.event_type when 'left' then 3 when 'title_change' then 2 else 1 end desc,
                    event.event_key desc
            ) as nth_from_last
        from job_change_events as event
        inner join touched_pairs as touched
            on touched.profile_id = event.profile_id and touched.organization_id = event.organization_id
    ),

    totals as (
        select
            profile_id,
            organization_id,
            min(changed_at) filter (where event_type = 'joined') as first_joined_at,
            max(changed_at) filter (where event_type = 'joined') as last_joined_at,
            max(changed_at) filter (where event_type = 'left') as last_left_at,
            cast(count(*) as integer) as events
        from events
        group by profile_id, organization_id
    )

select
    last.profile_id,
    last.organization_id,
    last.event_type <> 'left' as is_current,
    case
        when last.event_type <> 'left'
            and (totals.last_left_at is null or totals.last_joined_at >= totals.last_left_at)
            then totals.last_joined_at
    end as current_since_at,
    totals.first_joined_at,
    totals.last_left_at,
    last.title_current as title,
    last.person_full_name,
    last.organization_name,
    last.event_type as last_event_type,
    last.changed_at as last_event_at,
    last.detected_at as last_detected_at,
    last.event_key as last_event_key,
    totals.events
from events as last
inner join totals
    on totals.profile_id = last.profile_id and totals.organization_id = last.organization_id
where last.nth_from_last = 1
order by last.profile_id, last.organization_id;
