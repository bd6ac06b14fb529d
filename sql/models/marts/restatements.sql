-- grain: One row per organisation, month of the changes, who learnt of them (service or warehouse), and later month in which the figures changed.
-- key: organization_id, month_start_on, known_to, known_month_on
-- tier: detail
-- references: organization_id -> organizations.organization_id
-- values: known_to: service | warehouse
-- purpose: The vintages of each month's figures: the additions after the month was over, against the figures known before.
-- incremental_by: organization_id
-- note: A month's figure as it was known at the end of month k, the month itself or a later one, is …_before of its first row
-- note: with a known_month_on after k; without such a row, it is that of organization_monthly (summed).
-- note: Today's facts are counted by when they became known: a joining that was taken back later is in no vintage; as_known_on
-- note: reads whole tables as they were. The first detection of a corrected event counts. A fact that takes two events, such as
-- note: an internal move or a return after a leaving, is known when both are. Side roles are left out. Transfers are among
-- note: joiners and leavers here, because they are often recognised as transfers later.
-- partition: year of month_start_on
-- columns:
--   organization_id: The service's stable id of the organisation.
--   month_start_on: First day of the month in which the changes took effect, UTC.
--   known_to: service: by the time of detection; warehouse: by the time of first receipt, which matters for a backtest of one's own decisions.
--   known_month_on: First day of the later month in which more became known, UTC; always after month_start_on.
--   joiners_before: Joinings of the month known before that later month.
--   joiners_added: Joinings of the month that became known in that later month.
--   leavers_before: Leavings of the month known before that later month.
--   leavers_added: Leavings of the month that became known in that later month.
--   promotions_before: Promotions of the month known before that later month.
--   promotions_added: Promotions of the month that became known in that later month.
--   corrected_events: Events of the month, of any type, that were known before and whose correction became known in that later month.
with

facts as (
    select organization_id, month_start_on, known_at, first_seen_at, 'joiner' as fact
    from joiners
    where is_primary
    union all
    select organization_id, month_start_on, known_at, first_seen_at, 'leaver' as fact
    from leavers
    where is_primary
    union all
    select organization_id, month_start_on, known_at, first_seen_at, 'promotion' as fact
    from promotions
    where is_primary
),

dated as (
    select
        organization_id,
        month_start_on,
        month_start(known_at) as detected_month_on,
        month_start(first_seen_at) as received_month_on,
        fact
    from facts
),

-- Everything known by the end of the month is the first vintage.
known as (
    select organization_id, month_start_on, 'service' as known_to, greatest(month_start_on, detected_month_on) as known_month_on, fact
    from dated
    union all
    select organization_id, month_start_on, 'warehouse' as known_to, greatest(month_start_on, received_month_on) as known_month_on, fact
    from dated
    union all
    select organization_id, month_start_on, known_to, known_month_on, 'correction' as fact
    from event_corrections
    where known_month_on > month_start_on
),

added as (
    select
        organization_id,
        month_start_on,
        known_to,
        known_month_on,
        cast(count(case when fact = 'joiner' then 1 end) as integer) as joiners,
        cast(count(case when fact = 'leaver' then 1 end) as integer) as leavers,
        cast(count(case when fact = 'promotion' then 1 end) as integer) as promotions,
        cast(count(case when fact = 'correction' then 1 end) as integer) as corrected_events
    from known
    group by organization_id, month_start_on, known_to, known_month_on
),

summed as (
    select
        organization_id,
        month_start_on,
        known_to,
        known_month_on,
        joiners,
        leavers,
        promotions,
        corrected_events,
        sum(joiners) over vintages as joiners_since,
        sum(leavers) over vintages as leavers_since,
        sum(promotions) over vintages as promotions_since
    from added
    window vintages as (
        partition by organization_id, month_start_on, known_to
        order by known_month_on
        rows between unbounded preceding and current row
    )
)

select
    organization_id,
    month_start_on,
    known_to,
    known_month_on,
    cast(joiners_since - joiners as integer) as joiners_before,
    joiners as joiners_added,
    cast(leavers_since - leavers as integer) as leavers_before,
    leavers as leavers_added,
    cast(promotions_since - promotions as integer) as promotions_before,
    promotions as promotions_added,
    corrected_events
from summed
where known_month_on > month_start_on
