-- grain: One row per organisation where anybody is whose joining was not seen.
-- key: organization_id
-- purpose: How many people may be at each organisation who never changed anything, so that they were never seen.
-- incremental_by: organization_id
-- note: Chao's estimator. Who was there before all that was looked for is seen by a change of title alone. Of those, seen_once were seen
-- note: in one event and seen_twice in two; then seen_once * (seen_once - 1) / (2 * (seen_twice + 1)) are expected that were seen in
-- note: none. In worlds of the simulator, with titles that change in regular steps, it is about twice the truth, so that the best
-- note: figure takes half of it; where people differ in how often they change anything, it is less than the truth.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   seen_once: People who are there as far as is known, whose joining was not seen, and of whom one event was.
--   seen_twice: Those of whom two were.
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
