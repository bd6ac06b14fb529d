-- The attrition of each organisation in the twelve months to $month_on, and of each function and level over all of them, with
-- the grade that at least half of the people have, or better. Rows
-- where more left than the rate of the year before predicts come first; without that year, those where more left than the overall
-- rate predicts. At most $rows of each part. A function or level of fewer than 10 people is left out.
with

rated as (
    select
        case
            when rates.function = 'all' and rates.level = 'all' then 'organization'
            when rates.function <> 'all' then 'function'
            else 'level'
        end as part,
        rates.organization_id,
        case when rates.function <> 'all' then rates.function else rates.level end as role,
        rates.leavers,
        rates.headcount,
        rates.headcount_min,
        rates.headcount_max,
        rates.grade,
        earlier.leavers as leavers_before,
        earlier.headcount as headcount_before
    from attrition as rates
    left join attrition as earlier
        on earlier.organization_id = rates.organization_id
        and earlier.month_start_on = rates.month_start_on - interval 12 month
        and earlier.function = rates.function
        and earlier.level = rates.level
    where rates.month_start_on = $month_on::date
        and (rates.function = 'all' or rates.level = 'all')
        and (
            $organizations::varchar is null
            or rates.organization_id in (select unnest(from_json($organizations, '["varchar"]')))
        )
),

summed as (
    select
        part,
        case when part = 'organization' then organization_id end as organization_id,
        case when part = 'organization' then null else role end as role,
        sum(leavers) as leavers,
        sum(headcount) as headcount,
        sum(headcount_min) as headcount_min,
        sum(headcount_max) as headcount_max,
        case
            when 2 * sum(case when grade <= 'A' then headcount else 0 end) >= sum(headcount) then 'A'
            when 2 * sum(case when grade <= 'B' then headcount else 0 end) >= sum(headcount) then 'B'
            when 2 * sum(case when grade <= 'C' then headcount else 0 end) >= sum(headcount) then 'C'
            else 'D'
        end as grade,
        sum(case when headcount_before is not null then leavers end) as leavers_compared,
        sum(case when headcount_before is not null then headcount end) as headcount_compared,
        sum(leavers_before) as leavers_before,
        sum(headcount_before) as headcount_before
    from rated
    group by
        part,
        case when part = 'organization' then organization_id end,
        case when part = 'organization' then null else role end
    having sum(headcount) >= 10
),

judged as (
    select
        *,
        leavers / headcount as rate,
        leavers_before / nullif(headcount_before, 0) as rate_before,
        coalesce(
            leavers_compared - headcount_compared * leavers_before / nullif(headcount_before, 0),
            leavers - headcount * sum(leavers) over (partition by part) / sum(headcount) over (partition by part)
        ) as more
    from summed
),

placed as (
    select
        *,
        row_number() over (partition by part order by more desc, leavers desc, organization_id, role) as place,
        count(*) over (partition by part) as rows_of_part
    from judged
)

select
    placed.part,
    placed.organization_id,
    coalesce(named.name, placed.organization_id, placed.role) as name,
    cast(placed.leavers as integer) as leavers,
    round(placed.headcount, 1) as headcount,
    placed.rate,
    placed.leavers / placed.headcount_max as rate_low,
    placed.leavers / nullif(placed.headcount_min, 0) as rate_high,
    placed.rate_before,
    cast(round(placed.more) as integer) as more,
    placed.grade,
    cast(placed.rows_of_part as integer) as rows_of_part
from placed
left join organizations as named on named.organization_id = placed.organization_id
where placed.place <= $rows
order by placed.part, placed.place
