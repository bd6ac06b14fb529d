-- Layoffs and hiring bursts with changes that became known in the window: the whole months of organization_anomalies, as known
-- today.
select
    anomalies.change,
    anomalies.organization_id,
    coalesce(named.name, anomalies.organization_id) as organization,
    strftime(anomalies.month_start_on, '%Y-%m-%d') as month_start_on,
    anomalies.people,
    round(anomalies.expected, 1) as expected,
    round(anomalies.score, 1) as score,
    cast(count(*) over () as integer) as bursts
from organization_anomalies as anomalies
left join organizations as named on named.organization_id = anomalies.organization_id
where (anomalies.is_layoff or anomalies.is_hiring_burst)
    and (anomalies.organization_id, anomalies.change, anomalies.month_start_on) in (
        select (organization_id, change, cast(date_trunc('month', changed_on) as date))
        from known_changes
        where is_counted and known_at >= $from_at and known_at < $to_at
    )
    and (
        $organizations::varchar is null
        or anomalies.organization_id in (select unnest(from_json($organizations, '["varchar"]')))
    )
order by anomalies.score desc, anomalies.month_start_on, anomalies.organization_id, anomalies.change
limit $rows
