-- grain: One row per organisation and month, from its first change seen up to observed_until_on of organizations.
-- key: organization_id, month_start_on
-- kind: view
-- purpose: The headcount of each organisation, with bounds on the number of people seen, and its attrition, hiring, promotion and growth rates.
-- note: This is a view over headcount_changes, with a row also for months in which nothing changed. It is not published;
-- note: organization_headcounts has its newest rows, and headcount_changes what changed before.
-- note: Only main jobs count. Use the column headcount. While an organisation is observed, joinings are seen, so a person who
-- note: was not seen to join was there before: headcount counts them from the start. headcount_min counts them from their
-- note: first change on, and rises with every month of observation, whatever the organisation does. People who changed nothing
-- note: in the observed period are in neither bound. headcount adds the same number of them to every month: as many as the
-- note: organisation's page reports, or half of those that core.unseen_people expects. Several profiles of one person count as
-- note: several people.
-- note: A rate is the number of changes seen in the month, divided by the mean of the headcount at its start and its end: the
-- note: lower bound uses headcount_max, the upper bound headcount_min; null where that is 0. A person who was seen to leave or
-- note: to change title in the month was there at its start. Rates are null until an organisation was observed for a year:
-- note: people become visible when they change something, so a rate over those visible at first is far too high.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   month_start_on: The first day of the month, UTC.
--   headcount: People at the end of the month, the best figure and the one to use: headcount_max plus, in every month, the same number of people who were never seen.
--   headcount_min: People who were certainly there at the end of the month: they joined, or were seen there before, and have not left.
--   headcount_max: headcount_min and the people who may have been there: those whose joining was not seen, from the start until their first event, and those whose leaving was not seen.
--   reported_headcount: People according to the organisation's own page, as last received in the month; null where it was not received (pipelines/companies.yaml requests it).
--   joiners: Joinings in the month, excluding side roles and transfers.
--   leavers: Leavings in the month, excluding side roles and transfers.
--   transfers_in: People whom an acquisition or the like brought in the month; see is_transfer in joiners.
--   transfers_out: People whom a transfer took along in the month.
--   promotions: Promotions in the month, excluding those into side roles.
--   mean_headcount_min: The mean of headcount_min at the start and at the end of the month.
--   mean_headcount_max: The mean of headcount_max at the start and at the end of the month.
--   attrition_rate_min: leavers divided by mean_headcount_max.
--   attrition_rate_max: leavers divided by mean_headcount_min.
--   hiring_rate_min: joiners divided by mean_headcount_max.
--   hiring_rate_max: joiners divided by mean_headcount_min.
--   promotion_rate_min: promotions divided by mean_headcount_max.
--   promotion_rate_max: promotions divided by mean_headcount_min.
--   growth_rate_min: joiners minus leavers, divided by whichever of the two means gives less.
--   growth_rate_max: joiners minus leavers, divided by the other mean.
--   attrition_rate_with_transfers_min: The same as attrition_rate_min, with transfers_out among leavers.
--   attrition_rate_with_transfers_max: The same as attrition_rate_max, with transfers_out among leavers.
--   hiring_rate_with_transfers_min: The same as hiring_rate_min, with transfers_in among joiners.
--   hiring_rate_with_transfers_max: The same as hiring_rate_max, with transfers_in among joiners.
--   growth_rate_with_transfers_min: The same as growth_rate_min, with transfers_in among joiners and transfers_out among leavers.
--   growth_rate_with_transfers_max: The same as growth_rate_max, with transfers_in among joiners and transfers_out among leavers.
with

changes as (
    select
        organization_id,
        month_start_on,
        sum(joiners) as joiners,
        sum(leavers) as leavers,
        sum(transfers_in) as transfers_in,
        sum(transfers_out) as transfers_out,
        sum(promotions) as promotions,
        sum(people) as people,
        sum(appeared) as appeared,
        sum(appeared - may_begin) as may_before,
        sum(may_stay) as may_stay
    from headcount_changes
    group by organization_id, month_start_on
),

added_up as (
    select
        organization_id,
        month_start_on,
        joiners,
        leavers,
        transfers_in,
        transfers_out,
        promotions,
        sum(people) over until_then as people,
        sum(people + may_stay) over until_then + coalesce(sum(may_before) over after_that, 0) as possible_people,
        people - appeared as change,
        people + may_stay - may_before as possible_change,
        lead(month_start_on) over (partition by organization_id order by month_start_on) as next_change_on
    from changes
    window
        until_then as (
            partition by organization_id order by month_start_on rows between unbounded preceding and current row
        ),
        after_that as (
            partition by organization_id order by month_start_on rows between 1 following and unbounded following
        )
),

spans as (
    select
        added_up.organization_id,
        observed.observed_from_on,
        added_up.month_start_on as first_month_on,
        case
            when added_up.next_change_on <= observed.observed_until_on
                then month_of_number(month_number(added_up.next_change_on) - 1)
            else observed.observed_until_on
        end as last_month_on,
        added_up.joiners,
        added_up.leavers,
        added_up.transfers_in,
        added_up.transfers_out,
        added_up.promotions,
        added_up.people,
        added_up.possible_people,
        added_up.change,
        added_up.possible_change
    from added_up
    inner join organization_observation as observed on observed.organization_id = added_up.organization_id
),

-- Months between two changes keep the headcount of the first.
counted as (
    select
        spans.organization_id,
        months.month_start_on,
        cast(spans.people as integer) as headcount_min,
        cast(spans.possible_people as integer) as headcount_max,
        case when months.month_start_on = spans.first_month_on then cast(spans.joiners as integer) else 0 end as joiners,
        case when months.month_start_on = spans.first_month_on then cast(spans.leavers as integer) else 0 end as leavers,
        case when months.month_start_on = spans.first_month_on then cast(spans.transfers_in as integer) else 0 end
            as transfers_in,
        case when months.month_start_on = spans.first_month_on then cast(spans.transfers_out as integer) else 0 end
            as transfers_out,
        case when months.month_start_on = spans.first_month_on then cast(spans.promotions as integer) else 0 end
            as promotions,
        case
            when months.month_start_on = spans.first_month_on then spans.people - cast(spans.change as double) / 2
            else spans.people
        end as mean_headcount_min,
        case
            when months.month_start_on = spans.first_month_on
                then spans.possible_people - cast(spans.possible_change as double) / 2
            else spans.possible_people
        end as mean_headcount_max,
        spans.observed_from_on is null
        or month_number(months.month_start_on) >= month_number(spans.observed_from_on) + 12 as has_rates
    from spans
    inner join calendar_months as months
        on months.month_start_on >= spans.first_month_on and months.month_start_on <= spans.last_month_on
),

netted as (
    select
        organization_id,
        month_start_on,
        headcount_min,
        headcount_max,
        joiners,
        leavers,
        transfers_in,
        transfers_out,
        promotions,
        joiners - leavers as net,
        joiners + transfers_in - leavers - transfers_out as net_with_transfers,
        mean_headcount_min,
        mean_headcount_max,
        case when has_rates then nullif(mean_headcount_min, 0) end as fewest,
        case when has_rates then nullif(mean_headcount_max, 0) end as most
    from counted
)

select
    netted.organization_id,
    netted.month_start_on,
    headcount_max
    + coalesce(
        max_by(
            greatest(0, reported.reported_headcount - headcount_max),
            case when reported.reported_headcount is not null then netted.month_start_on end
        ) over (partition by netted.organization_id),
        cast(round(unseen.expected_unseen / 2) as integer),
        0
    ) as headcount,
    headcount_min,
    headcount_max,
    reported.reported_headcount,
    joiners,
    leavers,
    transfers_in,
    transfers_out,
    promotions,
    mean_headcount_min,
    mean_headcount_max,
    leavers / most as attrition_rate_min,
    leavers / fewest as attrition_rate_max,
    joiners / most as hiring_rate_min,
    joiners / fewest as hiring_rate_max,
    promotions / most as promotion_rate_min,
    promotions / fewest as promotion_rate_max,
    net / case when net < 0 then fewest else most end as growth_rate_min,
    net / case when net < 0 then most else fewest end as growth_rate_max,
    (leavers + transfers_out) / most as attrition_rate_with_transfers_min,
    (leavers + transfers_out) / fewest as attrition_rate_with_transfers_max,
    (joiners + transfers_in) / most as hiring_rate_with_transfers_min,
    (joiners + transfers_in) / fewest as hiring_rate_with_transfers_max,
    net_with_transfers / case when net_with_transfers < 0 then fewest else most end as growth_rate_with_transfers_min,
    net_with_transfers / case when net_with_transfers < 0 then most else fewest end as growth_rate_with_transfers_max
from netted
left join reported_headcounts as reported
    on reported.organization_id = netted.organization_id and reported.month_start_on = netted.month_start_on
left join unseen_people as unseen on unseen.organization_id = netted.organization_id
