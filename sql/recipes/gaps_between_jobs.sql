-- question: How long are people between jobs after they leave an organisation?
-- parameter: organization: its id or name
select
    count(*) as moves,
    round(count(*) filter (where is_direct) / count(*), 3) as share_direct,
    quantile_cont(gap_days, 0.25)::int as days_p25,
    median(gap_days)::int as days_median,
    quantile_cont(gap_days, 0.75)::int as days_p75
from moves
where from_organization_id = getvariable('organization') and not is_transfer
