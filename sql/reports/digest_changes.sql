-- The changes named in $names, executives first, then the latest known first; at most $rows.
select
    told.change,
    told.event_key,
    told.organization_id,
    coalesce(named.name, told.organization_name, told.organization_id) as organization,
    told.person_full_name,
    told.person_network_url,
    told.level,
    told.is_executive,
    told.title_before,
    told.title_after,
    told.from_organization,
    told.to_organization,
    cast(told.changed_on as varchar) as changed_on,
    told.precision,
    told.was_announced,
    strftime(told.known_at, '%Y-%m-%d') as known_on
from known_changes as told
left join organizations as named on named.organization_id = told.organization_id
where told.is_counted
    and left(md5(concat(told.change, told.event_key)), 16) in (select unnest(string_split($names, ' ')))
order by
    case told.level when 'cxo' then 1 when 'vp' then 2 when 'director' then 3 else 4 end,
    told.known_at desc,
    told.event_key,
    told.change
limit $rows
