-- Every start and end of a stint that was seen is a joiner or a leaver, and nothing else is. So a person who joined and was not
-- seen to leave is still there or came back later, and a person who left without a seen joining had been there before.
with

seen as (
    select organization_id, 1 as joiners, 0 as leavers, 0 as joinings, 0 as leavings, 0 as came, 0 as went
    from joiners
    union all
    select organization_id, 0 as joiners, 1 as leavers, 0 as joinings, 0 as leavings, 0 as came, 0 as went
    from leavers
    union all
    select
        organization_id,
        0 as joiners,
        0 as leavers,
        case when joined_event_key is not null then 1 else 0 end as joinings,
        case when left_event_key is not null then 1 else 0 end as leavings,
        case when joined_at is not null and left_event_key is null then 1 else 0 end as came,
        case when joined_at is null and left_event_key is not null then 1 else 0 end as went
    from stints
)

select
    organization_id,
    sum(joiners) as joiners,
    sum(joinings) as joinings_of_stints,
    sum(leavers) as leavers,
    sum(leavings) as leavings_of_stints,
    sum(came) as joined_and_still_there,
    sum(went) as left_without_seen_joining
from seen
group by organization_id
having
    sum(joiners) <> sum(joinings)
    or sum(leavers) <> sum(leavings)
    or sum(joiners) - sum(leavers) <> sum(came) - sum(went)
