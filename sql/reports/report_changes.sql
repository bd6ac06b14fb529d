-- The people who joined, left and were promoted, known first in the window: executives first, then the latest known first; at most $rows
-- of each, or of each organisation with $by_organization.
with ordered as (
    select
        *,
        row_number() over (
            partition by change, case when $by_organization::boolean then organization_id end
            order by
                case level when 'cxo' then 1 when 'vp' then 2 when 'director' then 3 else 4 end,
                known_at desc,
                event_key
        ) as place
    from known_changes
    where is_counted
        and known_at >= $from_at
        and known_at < $to_at
        and (
            $organizations::varchar is null
            or organization_id in (select unnest(from_json($organizations, '["varchar"]')))
        )
)

select
    ordered.change,
    ordered.event_key,
    ordered.organization_id,
    coalesce(named.name, ordered.organization_name, ordered.organization_id) as organization,
    ordered.person_full_name,
    ordered.person_network_url,
    ordered.level,
    ordered.is_executive,
    ordered.title_before,
    ordered.title_after,
    ordered.from_organization,
    ordered.to_organization,
    cast(ordered.changed_on as varchar) as changed_on,
    ordered.precision,
    ordered.was_announced,
    strftime(ordered.known_at, '%Y-%m-%d') as known_on
from ordered
left join organizations as named on named.organization_id = ordered.organization_id
where ordered.place <= $rows
order by ordered.change, ordered.place
