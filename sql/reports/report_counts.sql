-- How many joined, left and were promoted: known first in the window, and in the time of equal length before it. Side roles, such
-- as a seat on a board, and transfers are counted separately.
with placed as (
    select change, is_executive, is_primary, is_counted, known_at >= $from_at as is_in_window
    from known_changes
    where known_at >= $before_at
        and known_at < $to_at
        and (
            $organizations::varchar is null
            or organization_id in (select unnest(from_json($organizations, '["varchar"]')))
        )
)

select
    kinds.change,
    cast(count(case when is_in_window and is_counted then 1 end) as integer) as changes,
    cast(count(case when not is_in_window and is_counted then 1 end) as integer) as changes_before,
    cast(count(case when is_in_window and is_counted and is_executive then 1 end) as integer) as executives,
    cast(count(case when is_in_window and not is_primary then 1 end) as integer) as side_roles,
    cast(count(case when is_in_window and is_primary and not is_counted then 1 end) as integer) as transfers
from (values ('joined', 1), ('left', 2), ('rose', 3)) as kinds (change, place)
left join placed on placed.change = kinds.change
group by kinds.change, kinds.place
order by kinds.place
