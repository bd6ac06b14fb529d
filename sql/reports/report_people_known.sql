-- Of the organisations $shown, at the first of each of 25 months: how many people were known to be there, and of those who were
-- there in the year before, how many left. `low` counts people whose joining was seen; `high` also those whose joining was not.
-- A rate needs a whole year of observation: people become visible when they change something, so that at first nearly all
-- leavers are counted, and few of those who stay.
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
),

-- A rate of fewer than 10 people says more of chance than of the organisation.
rated as (
    select
        counted.*,
        low + low_year_before >= 20
        and (
            observed.observed_from_on is null
            or observed.observed_from_on <= cast(counted.month_at as date) - interval 1 year
        ) as is_rated
    from counted
    inner join organization_observation as observed on observed.organization_id = counted.organization_id
)

select
    rated.organization_id,
    coalesce(named.name, rated.organization_id) as organization,
    strftime(rated.month_at, '%Y-%m-%d') as month_on,
    cast(rated.low as integer) as low,
    cast(rated.high as integer) as high,
    case when is_rated then 2.0 * low_left / (low + low_year_before) end as low_attrition,
    case when is_rated then 2.0 * high_left / (high + high_year_before) end as high_attrition
from rated
left join organizations as named on named.organization_id = rated.organization_id
order by organization, rated.organization_id, rated.month_at
