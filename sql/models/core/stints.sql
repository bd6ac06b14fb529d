-- grain: One row per stint: one person's unbroken time at one organisation.
-- key: profile_id, organization_id, stint_number
-- purpose: Puts the joined and left events of each person and organisation in order and pairs them.
-- note: Order: changed_at, then detected_at, then joined before left. A stint starts at a joined event, or at a left event
-- note: whose joining was never seen; it goes on until a joined event follows a left one. A repeated joined or left event
-- note: inside a stint is the same arrival or departure said again: the first joined and the last left count.
-- columns:
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   stint_number: 1 for the person's first stint at the organisation that was seen, then 2, 3, …
--   joined_at: When the stint began, UTC; null when the joining was never seen.
--   left_at: When the stint ended, UTC; null when no leaving was seen.
--   joined_event_key: event_key of the joined event that began the stint; null when never seen.
--   left_event_key: event_key of the left event that ended the stint; null when never seen.
with

boundaries as (
    select
        event_key,
        profile_id,
        organization_id,
        event_type,
        changed_at,
        row_number() over timeline as position,
        lag(event_type) over timeline as previous_event_type,
        lead(event_type) over timeline as next_event_type
    from job_change_events
    where event_type in ('joined', 'left')
    window timeline as (
        partition by profile_id, organization_id order by changed_at, detected_at, event_type, event_key
    )
),

flagged as (
    select
        event_key,
        profile_id,
        organization_id,
        changed_at,
        position,
        previous_event_type is null or (event_type = 'joined' and previous_event_type = 'left') as starts_stint,
        event_type = 'joined' and coalesce(previous_event_type, 'left') = 'left' as is_arrival,
        event_type = 'left' and coalesce(next_event_type, 'joined') = 'joined' as is_departure
    from boundaries
),

numbered as (
    select
        event_key,
        profile_id,
        organization_id,
        changed_at,
        is_arrival,
        is_departure,
        sum(case when starts_stint then 1 else 0 end) over (
            partition by profile_id, organization_id order by position
            rows between unbounded preceding and current row
        ) as stint_number
    from flagged
)

select
    profile_id,
    organization_id,
    cast(stint_number as integer) as stint_number,
    -- Each stint has at most one arrival and one departure, so max() only picks the value that is not null.
    max(case when is_arrival then changed_at end) as joined_at,
    max(case when is_departure then changed_at end) as left_at,
    max(case when is_arrival then event_key end) as joined_event_key,
    max(case when is_departure then event_key end) as left_event_key
from numbered
group by profile_id, organization_id, stint_number
