-- grain: One row per organisation, month, function and level, for the year that ends with the month; the value all covers every function or level.
-- key: organization_id, month_start_on, function, level
-- references: organization_id -> organizations.organization_id
-- values: level: intern | entry | mid | senior | lead | manager | director | vp | cxo | unknown | all
-- values: grade: A | B | C | D
-- purpose: The share of its people that each organisation lost in twelve months, by function and level, and how sure that is.
-- incremental_by: organization_id
-- note: To total over functions, levels or organisations, add up leavers and headcount, and divide the sums; rates cannot be
-- note: added. Add up the functions at level all, or the levels at function all. A function at one level has rows where it had
-- note: 10 people or more at a time; these rows do not add up to all.
-- note: An organisation has rows from the end of its first observed year to its last whole month, while it has 10 people or
-- note: more. A leaving counts at the function and level that were left. Transfers and side roles are left out.
-- note: headcount is the mean over the twelve months of headcount in organization_headcount_monthly, each month as the mean of
-- note: its start and its end. People who were never seen are spread over functions and levels like the people seen.
-- note: headcount_max adds all who may be there and were never seen (core.unseen_people); where the organisation's page reports
-- note: the headcount, both columns use it.
-- note: The grade is A, less one letter for each doubt, and D at the lowest. docs/careers.md lists the doubts.
-- partition: year of month_start_on
-- columns:
--   organization_id: The service's stable id of the organisation.
--   month_start_on: First day of the last of the twelve months, UTC.
--   function: Field of work of the title; other where it names none, unknown where it is not understood, all for every function.
--   level: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown; all for every level.
--   leavers: People who left in the twelve months.
--   headcount: Mean headcount of the twelve months, the best figure.
--   headcount_min: Mean of the people who were certainly there.
--   headcount_max: Mean of the people who may have been there, including those who were never seen.
--   attrition_rate: leavers divided by headcount, the figure to use; null where the headcount is 0.
--   attrition_min: leavers divided by headcount_max; null where that is 0.
--   attrition_max: leavers divided by headcount_min; null where that is 0.
--   attrition_rate_year_before: attrition_rate of the row twelve months earlier; null where there is none.
--   grade: How reliable the rate is: A, B, C or D.
--   doubts: The reasons for a lower grade, comma-separated: few people, observed for less than 2 years, observed for less than 3 years, leavings still come in, people not seen to join, most people never seen, wide range; empty without any.
with

-- Months by number. An organisation requested from the start is observed since the first change, as in organization_anomalies.
observed as (
    select
        changes.organization_id,
        least(changes.first_month, month_number(observation.observed_from_on)) as first_month,
        coalesce(month_number(observation.observed_from_on), changes.first_month) as begun,
        observation.observed_from_on is null as is_from_beginning,
        month_number(observation.observed_until_on) - 1 as last_month,
        month_number(observation.cutoff_on) as cutoff_month
    from (
        select organization_id, min(month_number(month_start_on)) as first_month
        from headcount_changes
        group by organization_id
        -- An organisation with fewer than 10 people in all never has 10 at a time.
        having sum(joiners + transfers_in + appeared) >= 10
    ) as changes
    inner join organization_observation as observation on observation.organization_id = changes.organization_id
    where coalesce(month_number(observation.observed_from_on), changes.first_month) + 13 <= month_number(observation.observed_until_on)
),

totals as (
    select is_function, is_level
    from (values (true, true), (true, false), (false, true), (false, false)) as listed (is_function, is_level)
),

changes as (
    select
        headcount_changes.organization_id,
        month_number(headcount_changes.month_start_on) as month,
        case when totals.is_function then headcount_changes.function else 'all' end as function,
        case when totals.is_level then headcount_changes.level else 'all' end as level,
        sum(headcount_changes.leavers) as leavers,
        sum(headcount_changes.people) as people,
        sum(headcount_changes.appeared) as appeared,
        sum(headcount_changes.appeared - headcount_changes.may_begin) as may_before,
        sum(headcount_changes.may_stay) as may_stay
    from headcount_changes
    inner join observed on observed.organization_id = headcount_changes.organization_id
    cross join totals
    group by
        headcount_changes.organization_id,
        month_number(headcount_changes.month_start_on),
        case when totals.is_function then headcount_changes.function else 'all' end,
        case when totals.is_level then headcount_changes.level else 'all' end
),

-- People who may have been there from the start count from the organisation's first month: that of its first change, or the
-- first observed one.
with_start as (
    select organization_id, month, function, level, leavers, people, appeared, may_before, may_stay
    from changes
    union all
    select
        observed.organization_id,
        observed.first_month as month,
        kinds.function,
        kinds.level,
        0 as leavers,
        0 as people,
        0 as appeared,
        0 as may_before,
        0 as may_stay
    from (select distinct organization_id, function, level from changes) as kinds
    inner join observed on observed.organization_id = kinds.organization_id
),

steps as (
    select
        organization_id,
        month,
        function,
        level,
        sum(leavers) as leavers,
        sum(people) as people,
        sum(appeared) as appeared,
        sum(may_before) as may_before,
        sum(may_stay) as may_stay
    from with_start
    group by organization_id, month, function, level
),

added_up as (
    select
        organization_id,
        month,
        function,
        level,
        leavers,
        sum(people) over until_then as people,
        sum(people + may_stay) over until_then + coalesce(sum(may_before) over after_that, 0) as possible_people,
        people - appeared as change,
        people + may_stay - may_before as possible_change,
        lead(month) over (partition by organization_id, function, level order by month) as next_month
    from steps
    window
        until_then as (
            partition by organization_id, function, level order by month rows between unbounded preceding and current row
        ),
        after_that as (
            partition by organization_id, function, level order by month rows between 1 following and unbounded following
        )
),

-- A function at one level is usually small: most of the rows would say nothing.
large as (
    select
        measured.organization_id,
        measured.month,
        measured.function,
        measured.level,
        measured.leavers,
        measured.people,
        measured.possible_people,
        measured.change,
        measured.possible_change,
        greatest(measured.month, observed.begun + 1) as from_month,
        least(coalesce(measured.next_month - 1, observed.last_month + 1), observed.last_month + 1) as to_month
    from added_up as measured
    inner join observed on observed.organization_id = measured.organization_id
    inner join (
        select organization_id, function, level
        from added_up
        group by organization_id, function, level
        having max(case when function = 'all' or level = 'all' then 10 else possible_people end) >= 10
    ) as kept
        on kept.organization_id = measured.organization_id
        and kept.function = measured.function
        and kept.level = measured.level
),

-- Every month of the observed time, and the month in which it ends, for which a page can be known. Months between two changes
-- keep the headcount of the first.
monthly as (
    select
        large.organization_id,
        large.function,
        large.level,
        months.month,
        case when months.month = large.month then large.leavers else 0 end as leavers,
        large.possible_people as people_at_end,
        case
            when months.month = large.month then large.people - cast(large.change as double) / 2
            else large.people
        end as fewest,
        case
            when months.month = large.month then large.possible_people - cast(large.possible_change as double) / 2
            else large.possible_people
        end as most
    from large
    inner join (select month_number(month_start_on) as month from calendar_months) as months
        on months.month >= large.from_month and months.month <= large.to_month
),

-- A function or level that came later has a shorter year: before it, the headcount was zero.
rolling as (
    select
        organization_id,
        function,
        level,
        month,
        people_at_end,
        sum(leavers) over twelve_months as leavers,
        sum(fewest) over twelve_months / 12 as fewest,
        sum(most) over twelve_months / 12 as most
    from monthly
    window twelve_months as (
        partition by organization_id, function, level order by month rows between 11 preceding and current row
    )
),

-- People according to the page, as last received, beyond those who were seen by then.
pages as (
    select
        reported.organization_id,
        greatest(0, reported.reported_headcount - rolling.people_at_end) as unseen
    from reported_headcounts as reported
    inner join (
        select reported_headcounts.organization_id, max(reported_headcounts.month_start_on) as month_start_on
        from reported_headcounts
        inner join observed on observed.organization_id = reported_headcounts.organization_id
        where
            month_number(reported_headcounts.month_start_on) <= observed.last_month + 1
            and month_number(reported_headcounts.month_start_on) > observed.begun
        group by reported_headcounts.organization_id
    ) as newest
        on newest.organization_id = reported.organization_id and newest.month_start_on = reported.month_start_on
    inner join rolling
        on rolling.organization_id = reported.organization_id
        and rolling.month = month_number(reported.month_start_on)
        and rolling.function = 'all'
        and rolling.level = 'all'
),

organization_years as (
    select
        rolling.organization_id,
        rolling.month,
        rolling.most as seen,
        pages.unseen is not null as has_page,
        rolling.most + coalesce(pages.unseen, expected.expected_unseen / 2, 0) as headcount,
        rolling.most + coalesce(pages.unseen, expected.expected_unseen, 0) as headcount_max,
        observed.is_from_beginning,
        observed.cutoff_month,
        rolling.month - observed.begun + 1 as months_observed
    from rolling
    inner join observed on observed.organization_id = rolling.organization_id
    left join pages on pages.organization_id = rolling.organization_id
    left join unseen_people as expected on expected.organization_id = rolling.organization_id
    where
        rolling.function = 'all'
        and rolling.level = 'all'
        and rolling.most + coalesce(pages.unseen, expected.expected_unseen / 2, 0) >= 10
        and rolling.month >= observed.begun + 12
        and rolling.month <= observed.last_month
),

rated as (
    select
        rolling.organization_id,
        rolling.month,
        rolling.function,
        rolling.level,
        rolling.leavers,
        rolling.most * years.headcount / years.seen as headcount,
        rolling.fewest as headcount_min,
        rolling.most * years.headcount_max / years.seen as headcount_max,
        case when rolling.most * years.headcount / years.seen < 20 then 'few people' end as few_doubt,
        case
            when years.is_from_beginning or years.has_page then null
            when years.months_observed < 24 then 'observed for less than 2 years'
            when years.months_observed < 36 then 'observed for less than 3 years'
        end as time_doubt,
        case when rolling.month >= years.cutoff_month then 'leavings still come in' end as late_doubt,
        case when rolling.fewest < 0.75 * rolling.most then 'people not seen to join' end as joining_doubt,
        case when years.seen < 0.5 * years.headcount then 'most people never seen' end as page_doubt,
        -- attrition_max would be more than 5 times attrition_min.
        case
            when 5 * rolling.fewest < rolling.most * years.headcount_max / years.seen then 'wide range'
        end as range_doubt
    from rolling
    inner join organization_years as years
        on years.organization_id = rolling.organization_id and years.month = rolling.month
    -- A person who took and left a role in the same month never held it at the end of a month.
    where rolling.most > 0 or rolling.leavers > 0
),

doubted as (
    select
        organization_id,
        month,
        function,
        level,
        leavers,
        headcount,
        headcount_min,
        headcount_max,
        case when few_doubt is null then 0 else 1 end
        + case time_doubt when 'observed for less than 2 years' then 2 when 'observed for less than 3 years' then 1 else 0 end
        + case when late_doubt is null then 0 else 1 end
        + case when joining_doubt is null then 0 else 1 end
        + case when page_doubt is null then 0 else 1 end
        + case when range_doubt is null then 0 else 1 end as letters,
        concat_ws(', ', few_doubt, time_doubt, late_doubt, joining_doubt, page_doubt, range_doubt) as doubts
    from rated
)

select
    doubted.organization_id,
    month_of_number(doubted.month) as month_start_on,
    doubted.function,
    doubted.level,
    cast(doubted.leavers as integer) as leavers,
    round(doubted.headcount, 3) as headcount,
    round(doubted.headcount_min, 3) as headcount_min,
    round(doubted.headcount_max, 3) as headcount_max,
    round(doubted.leavers / nullif(doubted.headcount, 0), 6) as attrition_rate,
    round(doubted.leavers / nullif(doubted.headcount_max, 0), 6) as attrition_min,
    round(doubted.leavers / nullif(doubted.headcount_min, 0), 6) as attrition_max,
    round(earlier.leavers / nullif(earlier.headcount, 0), 6) as attrition_rate_year_before,
    case doubted.letters when 0 then 'A' when 1 then 'B' when 2 then 'C' else 'D' end as grade,
    doubted.doubts
from doubted
left join doubted as earlier
    on earlier.organization_id = doubted.organization_id
    and earlier.month = doubted.month - 12
    and earlier.function = doubted.function
    and earlier.level = doubted.level
