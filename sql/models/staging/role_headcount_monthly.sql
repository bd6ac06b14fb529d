-- grain: One row per organisation, month, function and level with at least one person who was there, or may have been.
-- key: organization_id, month_start_on, function, level
-- tier: detail
-- kind: view
-- purpose: The headcount of each organisation by function and level, at least and at most.
-- note: A person counts once, in the role that they have at the end of the month. The functions and levels of a month add up to
-- note: organization_headcount_monthly, which defines the bounds. Name the organisation in the query: there are many rows.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   month_start_on: The first day of the month, UTC.
--   function: Field of work of the title; other where it names none, unknown where it is not understood.
--   level: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   headcount_min: People who were certainly there in the role at the end of the month.
--   headcount_max: headcount_min and the people who may have been there in the role.
with

-- People who may have been there from the start count from the organisation's first month, also before the first change in the
-- role.
changes as (
    select
        organization_id,
        min(month_start_on) over (partition by organization_id) as month_start_on,
        function,
        level,
        0 as people,
        0 as may_before,
        0 as may_stay
    from headcount_changes
    union all
    select organization_id, month_start_on, function, level, people, appeared - may_begin as may_before, may_stay
    from headcount_changes
),

by_month as (
    select
        organization_id,
        month_start_on,
        function,
        level,
        sum(people) as people,
        sum(may_before) as may_before,
        sum(may_stay) as may_stay
    from changes
    group by organization_id, month_start_on, function, level
),

added_up as (
    select
        organization_id,
        month_start_on,
        function,
        level,
        sum(people) over until_then as people,
        sum(people + may_stay) over until_then + coalesce(sum(may_before) over after_that, 0) as possible_people,
        lead(month_start_on) over (partition by organization_id, function, level order by month_start_on) as next_change_on
    from by_month
    window
        until_then as (
            partition by organization_id, function, level
            order by month_start_on
            rows between unbounded preceding and current row
        ),
        after_that as (
            partition by organization_id, function, level
            order by month_start_on
            rows between 1 following and unbounded following
        )
),

spans as (
    select
        added_up.organization_id,
        added_up.function,
        added_up.level,
        added_up.month_start_on as first_month_on,
        case
            when added_up.next_change_on <= observed.observed_until_on
                then month_of_number(month_number(added_up.next_change_on) - 1)
            else observed.observed_until_on
        end as last_month_on,
        added_up.people,
        added_up.possible_people
    from added_up
    inner join organization_observation as observed on observed.organization_id = added_up.organization_id
    where added_up.possible_people > 0
)

select
    spans.organization_id,
    months.month_start_on,
    spans.function,
    spans.level,
    cast(spans.people as integer) as headcount_min,
    cast(spans.possible_people as integer) as headcount_max
from spans
inner join calendar_months as months
    on months.month_start_on >= spans.first_month_on and months.month_start_on <= spans.last_month_on
