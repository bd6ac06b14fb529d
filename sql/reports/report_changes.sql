-- Who joined, left and rose, known first in the window: executives first, then what became known last; of each at most $rows.
with changes as (
    select
        'joined' as change,
        event_key,
        organization_id,
        organization_name,
        person_full_name,
        person_network_url,
        level,
        came_from_title as title_before,
        title as title_after,
        came_from_organization_name as from_organization,
        organization_name as to_organization,
        joined_at as changed_at,
        is_month_precise,
        is_future,
        known_at
    from joiners
    where is_primary
    union all
    select
        'left',
        event_key,
        organization_id,
        organization_name,
        person_full_name,
        person_network_url,
        level,
        title,
        went_to_title,
        organization_name,
        went_to_organization_name,
        left_at,
        is_month_precise,
        is_future,
        known_at
    from leavers
    where is_primary
    union all
    select
        'rose',
        event_key,
        organization_id,
        organization_name,
        person_full_name,
        person_network_url,
        level,
        previous_title,
        title,
        organization_name,
        organization_name,
        promoted_at,
        is_month_precise,
        is_future,
        known_at
    from promotions
    where is_primary
),

ordered as (
    select
        *,
        level in ('director', 'vp', 'cxo') as is_executive,
        row_number() over (
            partition by change
            order by
                case level when 'cxo' then 1 when 'vp' then 2 when 'director' then 3 else 4 end,
                known_at desc,
                event_key
        ) as place
    from changes
    where known_at >= $from_at
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
    strftime(ordered.changed_at, '%Y-%m-%d') as changed_on,
    ordered.is_month_precise,
    ordered.is_future,
    strftime(ordered.known_at, '%Y-%m-%d') as known_on
from ordered
left join organizations as named on named.organization_id = ordered.organization_id
where ordered.place <= $rows
order by ordered.change, ordered.place
