-- Of the organisations $shown, at the first of each of 25 months: how many people were known to be there, and of those who were
-- there in the year before, how many left. `low` counts people whose joining was seen; `high` also those whose joining was not.
with months as (
    select month_at
    from unnest(
        generate_series(
            date_trunc('month', $to_at::timestamptz) - interval 24 months,
            date_trunc('month', $to_at::timestamptz),
            interval 1 month
        )
    ) as months (month_at)
),

spells as (
    select organization_id, joined_at, left_at
    from stints
    where is_primary
        and organization_id in (select unnest(from_json($shown, '["varchar"]')))
),

counted as (
    select
        spells.organization_id,
        months.month_at,
        count(case when joined_at < month_at and (left_at is null or left_at >= month_at) then 1 end) as low,
        count(
            case
                when (joined_at is null or joined_at < month_at) and (left_at is null or left_at >= month_at) then 1
            end
        ) as high,
        count(
            case
                when joined_at < month_at - interval 1 year and (left_at is null or left_at >= month_at - interval 1 year)
                    then 1
            end
        ) as low_year_before,
        count(
            case
                when (joined_at is null or joined_at < month_at - interval 1 year)
                    and (left_at is null or left_at >= month_at - interval 1 year)
                    then 1
            end
        ) as high_year_before,
        count(case when joined_at is not null and left_at >= month_at - interval 1 year and left_at < month_at then 1 end)
            as low_left,
        count(case when left_at >= month_at - interval 1 year and left_at < month_at then 1 end) as high_left
    from spells
    cross join months
    group by spells.organization_id, months.month_at
)

select
    counted.organization_id,
    coalesce(named.name, counted.organization_id) as organization,
    strftime(counted.month_at, '%Y-%m-%d') as month_on,
    cast(counted.low as integer) as low,
    cast(counted.high as integer) as high,
    -- A rate of fewer than 10 people says more of chance than of the organisation.
    case when low + low_year_before >= 20 then 2.0 * low_left / (low + low_year_before) end as low_attrition,
    case when low + low_year_before >= 20 then 2.0 * high_left / (high + high_year_before) end as high_attrition
from counted
left join organizations as named on named.organization_id = counted.organization_id
order by organization, counted.organization_id, counted.month_at
