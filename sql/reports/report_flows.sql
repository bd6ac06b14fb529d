-- Moves from one organisation to another, transfers left out as in talent_flows, whose halves were both detected since $flows_from_at, the most frequent first, and how
-- many of them in the window. With a list: the moves from or to its members.
with moved as (
    select
        from_organization_id,
        to_organization_id,
        min(from_organization_name) as from_organization_name,
        min(to_organization_name) as to_organization_name,
        count(*) as moves,
        count(case when detected_at >= $from_at then 1 end) as moves_in_window
    from moves
    where is_flow
        and detected_at >= $flows_from_at
        and detected_at < $to_at
        and (
            $organizations::varchar is null
            or from_organization_id in (select unnest(from_json($organizations, '["varchar"]')))
            or to_organization_id in (select unnest(from_json($organizations, '["varchar"]')))
        )
    group by from_organization_id, to_organization_id
)

select
    moved.from_organization_id,
    moved.to_organization_id,
    coalesce(left_one.name, moved.from_organization_name, moved.from_organization_id) as from_organization,
    coalesce(joined_one.name, moved.to_organization_name, moved.to_organization_id) as to_organization,
    cast(moved.moves as integer) as moves,
    cast(moved.moves_in_window as integer) as moves_in_window,
    cast(sum(moved.moves) over () as integer) as all_moves,
    cast(sum(moved.moves_in_window) over () as integer) as all_moves_in_window
from moved
left join organizations as left_one on left_one.organization_id = moved.from_organization_id
left join organizations as joined_one on joined_one.organization_id = moved.to_organization_id
order by
    moved.moves desc,
    moved.moves_in_window desc,
    from_organization,
    to_organization,
    moved.from_organization_id,
    moved.to_organization_id
limit $rows
