-- In each month and role the headcount is at least 0, and the upper bound is at least the lower one.
with

added_up as (
    select
        organization_id,
        month_start_on,
        function,
        level,
        sum(people) over until_then as people,
        sum(may_stay) over until_then + coalesce(sum(appeared - may_begin) over after_that, 0) as possible
    from headcount_changes
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
)

select organization_id, month_start_on, function, level, people, possible
from added_up
where people < 0 or possible < 0
