-- grain: One row per organisation, year of joining, and number of calendar months of tenure after which people left or were last seen there.
-- key: organization_id, cohort_year, tenure_calendar_months
-- references: organization_id -> organizations.organization_id
-- purpose: How many people stayed how long: the input of the survival curve in tenure_at_exit.
-- incremental_by: organization_id
-- note: tenure_at_exit defines who counts, and for how long. This model is separate because one leaving changes the rest of the
-- note: curve of its cohort, but only one or two of these counts.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   cohort_year: Calendar year of joining, UTC.
--   tenure_calendar_months: Calendar months from the month of joining to the month of leaving or of being last seen; 0 when both are the same month.
--   exits: People who left after this many months.
--   censored: People who were still there after this many months: at the data cutoff, at the end of what was seen before a leaving that was not seen, or when a transfer took them along.
with

-- People whom a transfer brought came to the job elsewhere, and people whom one took along did not give it up.
transfers as (
    select organization_id, event_key
    from joiners
    where is_transfer
    union all
    select organization_id, event_key
    from leavers
    where is_transfer
),

months as (
    select
        stints.organization_id,
        stints.cohort_year,
        month_start(stints.joined_at) as joined_on,
        case when stints.left_precision <> 'unknown' then month_start(stints.left_at) end as left_on,
        went.event_key is null as is_leaver,
        -- A person who came back was gone before that, at an unknown time; so was a person who left on an implausible date. A
        -- person who joined elsewhere since may be gone from then on.
        case
            when stints.left_precision = 'unknown' then month_start(stints.joined_at)
            when stints.left_at is null and not stints.is_open then month_start(stints.last_event_at)
            when uncertain.profile_id is not null then month_start(uncertain.uncertain_from_at)
        end as last_known_on,
        observed.cutoff_on,
        -- The last whole month before the cutoff.
        days_later(observed.cutoff_on, -1) as last_day_on
    from stints
    inner join organization_observation as observed on observed.organization_id = stints.organization_id
    left join uncertain_stints as uncertain
        on uncertain.profile_id = stints.profile_id
        and uncertain.organization_id = stints.organization_id
        and uncertain.stint_number = stints.stint_number
    left join transfers as came
        on came.organization_id = stints.organization_id and came.event_key = stints.joined_event_key
    left join transfers as went
        on went.organization_id = stints.organization_id and went.event_key = stints.left_event_key
    where stints.is_primary and stints.joined_at is not null and stints.joined_precision <> 'unknown' and came.event_key is null
),

ends as (
    select
        organization_id,
        cohort_year,
        joined_on,
        case
            when left_on < cutoff_on then left_on
            when last_known_on < cutoff_on then last_known_on
            else last_day_on
        end as ended_on,
        case when left_on < cutoff_on and is_leaver then 1 else 0 end as is_exit
    from months
    where joined_on < cutoff_on
),

tenures as (
    select
        organization_id,
        cohort_year,
        whole_months(joined_on, ended_on) as tenure_calendar_months,
        is_exit
    from ends
)

select
    organization_id,
    cohort_year,
    tenure_calendar_months,
    cast(sum(is_exit) as integer) as exits,
    cast(count(*) - sum(is_exit) as integer) as censored
from tenures
group by organization_id, cohort_year, tenure_calendar_months
