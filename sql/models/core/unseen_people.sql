-- grain: One row per organisation with people whose joining was not seen.
-- key: organization_id
-- purpose: How many people each organisation may have who never changed anything, so that no event shows them.
-- incremental_by: organization_id
-- note: This is Chao's estimator. Only a change of title shows a person who was there before the observed period. seen_once of
-- note: these people have one event and seen_twice have two; seen_once * (seen_once - 1) / (2 * (seen_twice + 1)) are expected
-- note: to have none. In simulated worlds, where titles change at regular steps, the estimate is about twice the truth, so the
-- note: best figure uses half of it; where people differ in how often they change anything, it is below the truth.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   seen_once: People who are there according to the data, whose joining was not seen, with one event.
--   seen_twice: People who are there according to the data, whose joining was not seen, with two events.
--   expected_unseen: People who may be there and were never seen.
select
    organization_id,
    cast(seen_once as integer) as seen_once,
    cast(seen_twice as integer) as seen_twice,
    cast(seen_once * (seen_once - 1) as double) / (2 * (seen_twice + 1)) as expected_unseen
from (
    select
        organization_id,
        count(case when events = 1 then 1 end) as seen_once,
        count(case when events = 2 then 1 end) as seen_twice
    from stints
    where is_primary and is_open and joined_at is null
    group by organization_id
) as counted
