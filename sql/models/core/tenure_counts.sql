-- grain: One row per organisation, year of joining, and whole months of tenure after which anybody of the year left or was last seen there.
-- key: organization_id, cohort_year, tenure_months
-- incremental_by: organization_id, cohort_year
-- references: organization_id -> organizations.organization_id
-- purpose: How many people stayed how long. What tenure_at_exit makes a survival curve of.
-- note: Who counts, and how long, stands in tenure_at_exit. Apart from it because one leaving changes the curve of its cohort from
-- note: there on, but only one or two of these counts.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   cohort_year: Calendar year of joining, UTC.
--   tenure_months: Calendar months from the month of joining to that of leaving or of being last seen; 0 when they are one.
--   exits: People who left after so many months.
--   censored: People who were still there after so many months when the organisation was last looked at.
with

months as (
    select
        stints.organization_id,
        stints.cohort_year,
        month_start(stints.joined_at) as joined_on,
        month_start(stints.left_at) as left_on,
        organization_observation.observed_until_on
    from stints
    inner join organization_observation on organization_observation.organization_id = stints.organization_id
    where stints.is_primary and stints.joined_at is not null
),

ends as (
    select
        organization_id,
        cohort_year,
        joined_on,
        case when left_on <= observed_until_on then left_on else observed_until_on end as ended_on,
        case when left_on <= observed_until_on then 1 else 0 end as is_exit
    from months
    where joined_on <= observed_until_on
),

tenures as (
    select
        organization_id,
        cohort_year,
        whole_months(joined_on, ended_on) as tenure_months,
        is_exit
    from ends
)

select
    organization_id,
    cohort_year,
    tenure_months,
    cast(sum(is_exit) as integer) as exits,
    cast(count(*) - sum(is_exit) as integer) as censored
from tenures
group by organization_id, cohort_year, tenure_months
