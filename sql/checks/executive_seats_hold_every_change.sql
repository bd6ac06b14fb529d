-- Every change at the top begins or ends a person's time in a seat, or does both. Every such time has a start, an end, or both.
with

entries as (
    select
        profile_id,
        case when change <> 'departed' and seat is not null then 1 else 0 end as beginnings,
        case when change = 'departed' or previous_seat is not null then 1 else 0 end
        + case when released_seat is not null then 1 else 0 end as ends
    from executive_events
    union all
    select
        profile_id,
        case when began_event_key is not null then -1 else 0 end as beginnings,
        case when ended_event_key is not null then -1 else 0 end as ends
    from executive_seats
)

select profile_id, sum(beginnings) as beginnings, sum(ends) as ends
from entries
group by profile_id
having sum(beginnings) <> 0 or sum(ends) <> 0
