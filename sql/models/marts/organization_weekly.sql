-- grain: One row per organisation, week, function and level with at least one joining, leaving or promotion.
-- key: organization_id, week_start_on, function, level
-- tier: detail
-- references: organization_id -> organizations.organization_id
-- values: level: intern | entry | mid | senior | lead | manager | director | vp | cxo | unknown
-- purpose: The number of people who joined, left or were promoted each week. A missing row means that no change was seen; one may have happened.
-- incremental_by: organization_id
-- note: A joining counts at the function and level joined, a leaving at the function and level left, a promotion at the new
-- note: ones. A change counts in the week in which it took effect, even when that lies after its detection (see was_announced
-- note: in joiners). Dates are often known to the month only, as its first day: then they all count in the week that holds it;
-- note: month_only_share says how many, and organization_monthly has no such peaks.
-- partition: year of week_start_on
-- columns:
--   organization_id: The service's stable id of the organisation.
--   week_start_on: The Monday of the week, UTC.
--   function: Field of work of the title; other where it names none, unknown where it is not understood.
--   level: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   joiners: Joinings in the week, excluding side roles and transfers.
--   leavers: Leavings in the week, excluding side roles and transfers.
--   net: joiners minus leavers.
--   promotions: Promotions in the week, excluding those into side roles.
--   joiners_known_same_month: Joiners that were seen in the month in which they joined: comparable over time, however late others are seen.
--   leavers_known_same_month: Leavers that were seen in the month in which they left.
--   month_only_changes: Joiners, leavers and promotions dated by the month or the year only.
--   month_only_share: month_only_changes as a share of joiners, leavers and promotions, 0 to 1; null where there are none.
--   boomerangs: Joiners who had been at the organisation before.
--   side_joiners: Joinings as board member, adviser or the like, not among joiners.
--   side_leavers: Leavings from such side roles, not among leavers.
--   transfers_in: People whom an acquisition or the like brought, not among joiners; see is_transfer in joiners.
--   transfers_out: People whom a transfer took along, not among leavers.
with

changes as (
    select
        organization_id,
        week_start_on,
        function,
        level,
        case when not is_primary then 'side joiner' when is_transfer then 'transfer in' else 'joiner' end as fact,
        known_same_month,
        precision,
        is_boomerang
    from joiners
    union all
    select
        organization_id,
        week_start_on,
        function,
        level,
        case when not is_primary then 'side leaver' when is_transfer then 'transfer out' else 'leaver' end as fact,
        known_same_month,
        precision,
        is_boomerang
    from leavers
    union all
    select
        organization_id,
        week_start_on,
        function,
        level,
        'promotion' as fact,
        false as known_same_month,
        precision,
        false as is_boomerang
    from promotions
    where is_primary
),

counted as (
    select
        organization_id,
        week_start_on,
        function,
        level,
        count(case when fact = 'joiner' then 1 end) as joiners,
        count(case when fact = 'leaver' then 1 end) as leavers,
        count(case when fact = 'promotion' then 1 end) as promotions,
        count(case when fact = 'joiner' and known_same_month then 1 end) as joiners_known_same_month,
        count(case when fact = 'leaver' and known_same_month then 1 end) as leavers_known_same_month,
        count(case when fact in ('joiner', 'leaver', 'promotion') and precision <> 'day' then 1 end) as month_only_changes,
        count(case when fact = 'joiner' and is_boomerang then 1 end) as boomerangs,
        count(case when fact = 'side joiner' then 1 end) as side_joiners,
        count(case when fact = 'side leaver' then 1 end) as side_leavers,
        count(case when fact = 'transfer in' then 1 end) as transfers_in,
        count(case when fact = 'transfer out' then 1 end) as transfers_out
    from changes
    group by organization_id, week_start_on, function, level
)

select
    organization_id,
    week_start_on,
    function,
    level,
    cast(joiners as integer) as joiners,
    cast(leavers as integer) as leavers,
    cast(joiners - leavers as integer) as net,
    cast(promotions as integer) as promotions,
    cast(joiners_known_same_month as integer) as joiners_known_same_month,
    cast(leavers_known_same_month as integer) as leavers_known_same_month,
    cast(month_only_changes as integer) as month_only_changes,
    case
        when joiners + leavers + promotions > 0
            then cast(month_only_changes as double) / (joiners + leavers + promotions)
    end as month_only_share,
    cast(boomerangs as integer) as boomerangs,
    cast(side_joiners as integer) as side_joiners,
    cast(side_leavers as integer) as side_leavers,
    cast(transfers_in as integer) as transfers_in,
    cast(transfers_out as integer) as transfers_out
from counted
