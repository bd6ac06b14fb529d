-- The headcount, joiners and leavers of the organisations $shown in each of the 25 months to $month_on, and the share that left
-- in the twelve months to then. Months before an organisation was observed are left out.
with

shown as (
    select
        organizations.organization_id,
        organizations.name,
        organizations.observed_from_on,
        -- As in attrition: an organisation requested from the start is observed since the first change.
        coalesce(organizations.observed_from_on, seen.first_month_on) as observed_since_on,
        coalesce(seen.people_seen, 0) as people_seen
    from organizations
    left join (
        select
            organization_id,
            min(month_start_on) as first_month_on,
            sum(joiners + transfers_in + appeared) as people_seen
        from headcount_changes
        where organization_id in (select unnest(from_json($shown, '["varchar"]')))
        group by organization_id
    ) as seen on seen.organization_id = organizations.organization_id
    where organizations.organization_id in (select unnest(from_json($shown, '["varchar"]')))
)

select
    shown.organization_id,
    coalesce(shown.name, shown.organization_id) as organization,
    strftime(shown.observed_since_on, '%Y-%m-%d') as observed_since_on,
    shown.observed_from_on is null as is_from_beginning,
    strftime(shown.observed_since_on + interval 13 month, '%Y-%m-%d') as first_rate_on,
    cast(shown.people_seen as integer) as people_seen,
    strftime(monthly.month_start_on, '%Y-%m-%d') as month_on,
    monthly.headcount,
    monthly.headcount_max as seen,
    monthly.joiners as joined,
    monthly.leavers as went,
    rates.attrition_rate as rate,
    rates.attrition_min as rate_low,
    rates.attrition_max as rate_high,
    rates.attrition_rate_year_before as rate_before,
    rates.grade,
    rates.doubts
from organization_headcount_monthly as monthly
inner join shown on shown.organization_id = monthly.organization_id
left join attrition as rates
    on rates.organization_id = monthly.organization_id
    and rates.month_start_on = monthly.month_start_on
    and rates.function = 'all'
    and rates.level = 'all'
where monthly.organization_id in (select unnest(from_json($shown, '["varchar"]')))
    and monthly.month_start_on <= $month_on::date
    and monthly.month_start_on > $month_on::date - interval 25 month
    and (shown.observed_from_on is null or monthly.month_start_on >= shown.observed_from_on)
order by organization, shown.organization_id, monthly.month_start_on
