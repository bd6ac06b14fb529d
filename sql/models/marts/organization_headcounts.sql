-- grain: One row per organisation with changes, for the last month in which it was observed.
-- key: organization_id
-- references: organization_id -> organizations.organization_id
-- purpose: How many people each organisation has now: the newest row of organization_headcount_monthly, also in snapshots.
-- incremental_by: organization_id
-- note: For an earlier month, subtract what headcount_changes has after it.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   month_start_on: The first day of the month, UTC: observed_until_on of organizations.
--   headcount: People at the end of the month, the best figure and the one to use: headcount_max plus the people who were never seen.
--   headcount_min: People who were certainly there.
--   headcount_max: headcount_min and the people who may have been there; all of them were seen at some time.
--   people_never_seen: The headcount on the organisation's newest page minus headcount_max of the month of that page, 0 or more; without a page, half of expected_unseen (core.unseen_people).
with

changes as (
    select
        headcount_changes.organization_id,
        headcount_changes.month_start_on,
        observed.observed_until_on,
        headcount_changes.people,
        headcount_changes.people + headcount_changes.may_stay as possible_people,
        headcount_changes.appeared - headcount_changes.may_begin as may_before
    from headcount_changes
    inner join organization_observation as observed on observed.organization_id = headcount_changes.organization_id
),

observed as (
    select organization_id, min(month_start_on) as first_month_on, min(observed_until_on) as observed_until_on
    from changes
    group by organization_id
    having min(month_start_on) <= min(observed_until_on)
),

pages as (
    select
        reported.organization_id,
        max(reported.month_start_on) as month_start_on,
        max_by(reported.reported_headcount, reported.month_start_on) as people
    from reported_headcounts as reported
    inner join observed on observed.organization_id = reported.organization_id
    where
        reported.reported_headcount is not null
        and reported.month_start_on >= observed.first_month_on
        and reported.month_start_on <= observed.observed_until_on
    group by reported.organization_id
),

-- Who may have been there from the start counts before the first event, also in the month of the page.
counted as (
    select
        changes.organization_id,
        sum(case when changes.month_start_on <= changes.observed_until_on then changes.people else 0 end) as fewest,
        sum(
            case
                when changes.month_start_on <= changes.observed_until_on then changes.possible_people
                else changes.may_before
            end
        ) as most,
        sum(case when changes.month_start_on <= pages.month_start_on then changes.possible_people else changes.may_before end)
            as most_at_page
    from changes
    left join pages on pages.organization_id = changes.organization_id
    group by changes.organization_id
),

completed as (
    select
        observed.organization_id,
        observed.observed_until_on as month_start_on,
        cast(counted.fewest as integer) as headcount_min,
        cast(counted.most as integer) as headcount_max,
        cast(
            case
                when pages.people is not null then greatest(0, pages.people - counted.most_at_page)
                else coalesce(round(unseen.expected_unseen / 2), 0)
            end as integer
        ) as people_never_seen
    from observed
    inner join counted on counted.organization_id = observed.organization_id
    left join pages on pages.organization_id = observed.organization_id
    left join unseen_people as unseen on unseen.organization_id = observed.organization_id
)

select
    organization_id,
    month_start_on,
    headcount_max + people_never_seen as headcount,
    headcount_min,
    headcount_max,
    people_never_seen
from completed
