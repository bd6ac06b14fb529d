-- The pairs that this batch touched, computed anew from all their events: the state of a pair depends on its events only,
-- never on the order in which they came. Events of one moment are ordered by detection, then joined before title_change
-- before left, then by key.
--
-- Joined and left events alone decide whether and since when a pair is current, as in the model stints: it is current when
-- no left event was seen, or a joined event follows the last left one; since the first such joined event, because a
-- repeated one is the same arrival said again. A change of title after a left event brings nobody back, and a pair with
-- changes of title only is current since an unknown time. The title is that of the last event that has one; for left,
-- the title that was left.

create or replace temp table touched_pairs as
select distinct profile_id, organization_id
from staged_events;

delete from person_organizations as pair
using touched_pairs as touched
where pair.profile_id = touched.profile_id and pair.organization_id = touched.organization_id;

insert into person_organizations
with
    ordered as (
        select
            event.*,
            case
                when event.event_type = 'left' then coalesce(event.title_current, event.title_previous)
                else event.title_current
            end as title,
            row_number() over (
                partition by event.profile_id, event.organization_id
                order by
                    event.changed_at,
                    event.detected_at,
                    case event.event_type when 'joined' then 1 when 'title_change' then 2 else 3 end,
                    event.event_key
            ) as position
        from job_change_events as event
        inner join touched_pairs as touched
            on touched.profile_id = event.profile_id and touched.organization_id = event.organization_id
    ),

    events as (
        select
            *,
            max(case when event_type = 'left' then position end) over (
                partition by profile_id, organization_id
            ) as last_left_position
        from ordered
    ),

    totals as (
        select
            profile_id,
            organization_id,
            min(changed_at) filter (
                where event_type = 'joined' and position > coalesce(last_left_position, 0)
            ) as current_since_at,
            min(changed_at) filter (where event_type = 'joined') as first_joined_at,
            max(changed_at) filter (where event_type = 'left') as last_left_at,
            arg_max(title, position) filter (where title is not null) as title,
            cast(count(*) as integer) as events
        from events
        group by profile_id, organization_id
    )

select
    last.profile_id,
    last.organization_id,
    totals.last_left_at is null or totals.current_since_at is not null as is_current,
    totals.current_since_at,
    totals.first_joined_at,
    totals.last_left_at,
    totals.title,
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
where last.position = totals.events
order by last.profile_id, last.organization_id;
