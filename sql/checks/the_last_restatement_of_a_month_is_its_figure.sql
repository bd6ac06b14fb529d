with

vintages as (
    select
        organization_id,
        month_start_on,
        known_to,
        max(joiners_before + joiners_added) as joiners,
        max(leavers_before + leavers_added) as leavers,
        max(promotions_before + promotions_added) as promotions,
        min(joiners_added + leavers_added + promotions_added + corrected_events) as least_change,
        min(known_month_on) as first_known_month_on
    from restatements
    group by organization_id, month_start_on, known_to
),

figures as (
    select
        organization_id,
        month_start_on,
        sum(joiners + transfers_in) as joiners,
        sum(leavers + transfers_out) as leavers,
        sum(promotions) as promotions
    from organization_monthly
    group by organization_id, month_start_on
)

select vintages.organization_id, vintages.month_start_on, vintages.known_to, vintages.joiners, vintages.leavers, vintages.promotions
from vintages
left join figures
    on figures.organization_id = vintages.organization_id and figures.month_start_on = vintages.month_start_on
where
    vintages.joiners <> coalesce(figures.joiners, 0)
    or vintages.leavers <> coalesce(figures.leavers, 0)
    or vintages.promotions <> coalesce(figures.promotions, 0)
    or vintages.least_change < 1
    or vintages.first_known_month_on <= vintages.month_start_on
