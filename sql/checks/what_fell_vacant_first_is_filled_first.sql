-- scope: organization_id, function, level
select
    organization_id,
    function,
    level,
    max(case when not is_open then utc_date(left_at) end) as last_filled_vacant_since_on,
    min(case when is_open then utc_date(left_at) end) as first_open_vacant_since_on
from time_to_backfill
group by organization_id, function, level
having max(case when not is_open then utc_date(left_at) end) > min(case when is_open then utc_date(left_at) end)
