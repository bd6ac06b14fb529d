-- One row: the newest whole month up to the end of the window in which most organisations were observed, how many joined and left
-- in the twelve months to it and in the twelve before, and the share of the people that left. Where most were observed for less
-- than twelve months, the periods have that many months. Only organisations observed for the whole counted period count; rates
-- are those of attrition, as known today.
with

scope as (
    select
        organizations.organization_id,
        organizations.observed_from_on,
        -- As in attrition: an organisation requested from the start is observed since the first change.
        coalesce(organizations.observed_from_on, seen.first_month_on) as observed_since_on,
        coalesce(seen.people_seen, 0) as people_seen,
        cast(
            least(
                cast(date_trunc('month', $to_at::timestamptz) as date),
                organizations.observed_until_on
            ) - interval 1 month as date
        ) as last_month_on
    from organizations
    left join (
        select
            organization_id,
            min(month_start_on) as first_month_on,
            sum(joiners + transfers_in + appeared) as people_seen
        from headcount_changes
        group by organization_id
    ) as seen on seen.organization_id = organizations.organization_id
    where organizations.observed_until_on is not null
        and (
            $organizations::varchar is null
            or organizations.organization_id in (select unnest(from_json($organizations, '["varchar"]')))
        )
),

-- The month up to which most are observed: one organisation read a month longer, or less, does not change it.
usual as (
    select last_month_on as month_on
    from scope
    group by last_month_on
    order by count(*) desc, last_month_on desc
    limit 1
),

begun as (
    select observed_from_on
    from scope
    cross join usual
    where observed_from_on is null or observed_from_on <= usual.month_on
    group by observed_from_on
    order by count(*) desc, observed_from_on nulls first
    limit 1
),

newest as (
    select
        max(usual.month_on) as month_on,
        greatest(cast(max(usual.month_on) - interval 11 month as date), max(begun.observed_from_on)) as counted_from_on,
        count(*) as organizations,
        min(scope.observed_since_on) as observed_since_on,
        min_by(scope.observed_from_on is null, scope.observed_since_on) as is_from_beginning,
        max(scope.people_seen) as people_seen,
        -- Whether most of them were observed in the year before.
        2 * count(case when scope.observed_since_on <= usual.month_on - interval 23 month then 1 end) > count(*) as is_comparable,
        -- The first rate is that of the month after the first observed year.
        min(cast(scope.observed_since_on + interval 13 month as date)) as first_rate_on
    from scope
    cross join usual
    left join begun on true
),

monthly as (
    select
        case
            when changes.month_start_on >= newest.counted_from_on then 'year'
            when changes.month_start_on <= newest.month_on - interval 12 month then 'before'
        end as part,
        newest.is_comparable
        and coalesce(scope.observed_from_on <= newest.month_on - interval 23 month, true) as is_comparable,
        changes.joiners,
        changes.leavers
    from organization_monthly as changes
    inner join scope on scope.organization_id = changes.organization_id
    cross join newest
    where changes.month_start_on <= newest.month_on
        and changes.month_start_on > newest.month_on - interval 24 month
        and (scope.observed_from_on is null or scope.observed_from_on <= newest.counted_from_on)
),

counted as (
    select
        coalesce(sum(case when part = 'year' then joiners end), 0) as joined,
        coalesce(sum(case when part = 'year' then leavers end), 0) as went,
        -- There is no comparison where some were not requested for the year before, or most were not observed in it.
        case when bool_and(is_comparable) then coalesce(sum(case when part = 'before' then joiners end), 0) end as joined_before,
        case when bool_and(is_comparable) then coalesce(sum(case when part = 'before' then leavers end), 0) end as went_before
    from monthly
),

rated as (
    select
        rates.leavers,
        rates.headcount,
        rates.headcount_min,
        rates.headcount_max,
        rates.grade,
        earlier.leavers as leavers_before,
        earlier.headcount as headcount_before
    from attrition as rates
    inner join scope on scope.organization_id = rates.organization_id
    inner join newest on newest.month_on = rates.month_start_on
    left join attrition as earlier
        on earlier.organization_id = rates.organization_id
        and earlier.month_start_on = rates.month_start_on - interval 12 month
        and earlier.function = 'all'
        and earlier.level = 'all'
    where rates.function = 'all' and rates.level = 'all'
),

rates as (
    select
        count(*) as rated,
        sum(leavers) / sum(headcount) as rate,
        sum(leavers) / sum(headcount_max) as rate_low,
        sum(leavers) / nullif(sum(headcount_min), 0) as rate_high,
        count(headcount_before) as compared,
        sum(case when headcount_before is not null then leavers end)
        / sum(case when headcount_before is not null then headcount end) as rate_compared,
        sum(leavers_before) / sum(headcount_before) as rate_before,
        -- The grade that at least half of the people have, or better.
        case
            when 2 * sum(case when grade <= 'A' then headcount else 0 end) >= sum(headcount) then 'A'
            when 2 * sum(case when grade <= 'B' then headcount else 0 end) >= sum(headcount) then 'B'
            when 2 * sum(case when grade <= 'C' then headcount else 0 end) >= sum(headcount) then 'C'
            when count(*) > 0 then 'D'
        end as grade
    from rated
)

select
    cast(newest.organizations as integer) as organizations,
    strftime(newest.month_on, '%Y-%m-%d') as month_on,
    cast(date_diff('month', newest.counted_from_on, newest.month_on) + 1 as integer) as months,
    strftime(newest.observed_since_on, '%Y-%m-%d') as observed_since_on,
    newest.is_from_beginning,
    strftime(newest.first_rate_on, '%Y-%m-%d') as first_rate_on,
    cast(coalesce(newest.people_seen, 0) as integer) as people_seen,
    cast(counted.joined as integer) as joined,
    cast(counted.went as integer) as went,
    cast(counted.joined_before as integer) as joined_before,
    cast(counted.went_before as integer) as went_before,
    cast(rates.rated as integer) as rated,
    rates.rate,
    rates.rate_low,
    rates.rate_high,
    rates.grade,
    cast(rates.compared as integer) as compared,
    rates.rate_compared,
    rates.rate_before
from newest
cross join counted
cross join rates
