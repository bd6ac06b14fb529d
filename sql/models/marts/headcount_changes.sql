-- grain: One row per organisation, month, function and level in which the headcount changed.
-- key: organization_id, month_start_on, function, level
-- tier: detail
-- references: organization_id -> organizations.organization_id
-- values: level: intern | entry | mid | senior | lead | manager | director | vp | cxo | unknown
-- purpose: The change of each organisation's headcount; organization_headcount_monthly adds the changes up over months.
-- incremental_by: organization_id
-- note: Only observed organisations have rows: data from filtered requests alone cannot give a headcount. Only main jobs
-- note: count. core/headcount_steps.sql defines who counts when their joining or leaving was not seen.
-- partition: year of month_start_on
-- columns:
--   organization_id: The service's stable id of the organisation.
--   month_start_on: The first day of the month, UTC.
--   function: Field of work of the title; other where it names none, unknown where it is not understood.
--   level: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   joiners: Joinings in the month, as in organization_monthly.
--   leavers: Leavings in the month, as in organization_monthly.
--   transfers_in: People whom an acquisition or the like brought, as in organization_monthly.
--   transfers_out: People whom a transfer took along, as in organization_monthly.
--   promotions: Promotions in the month, at the new function and level, as in organization_monthly.
--   people: The change in the number of people who are certainly there: the sum up to a month is headcount_min at its end.
--   appeared: People who are certainly there from this month on, and may have been there before: the sum of appeared - may_begin over all months after a month is the number of people who may already be there in it.
--   may_begin: People who appear in a later month and cannot have been there before this one: to be subtracted from appeared.
--   may_stay: The change in the number of people who may still be there although they are not seen any more: the sum up to a month is their number.
with

changes as (
    select
        organization_id,
        month_start_on,
        function,
        level,
        joiners,
        leavers,
        transfers_in,
        transfers_out,
        promotions,
        joiners + transfers_in - leavers - transfers_out as people,
        0 as appeared,
        0 as may_begin,
        0 as may_stay
    from organization_monthly
    where joiners > 0 or leavers > 0 or transfers_in > 0 or transfers_out > 0 or promotions > 0
    union all
    select
        organization_id,
        month_start_on,
        function,
        level,
        0 as joiners,
        0 as leavers,
        0 as transfers_in,
        0 as transfers_out,
        0 as promotions,
        people,
        appeared,
        may_begin,
        may_stay
    from headcount_steps
)

select
    organization_id,
    month_start_on,
    function,
    level,
    cast(sum(joiners) as integer) as joiners,
    cast(sum(leavers) as integer) as leavers,
    cast(sum(transfers_in) as integer) as transfers_in,
    cast(sum(transfers_out) as integer) as transfers_out,
    cast(sum(promotions) as integer) as promotions,
    cast(sum(people) as integer) as people,
    cast(sum(appeared) as integer) as appeared,
    cast(sum(may_begin) as integer) as may_begin,
    cast(sum(may_stay) as integer) as may_stay
from changes
where organization_id in (select organization_id from organization_observation where observed_until_on is not null)
group by organization_id, month_start_on, function, level
