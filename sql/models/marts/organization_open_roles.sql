-- grain: One row per organisation with at least one known job posting.
-- key: organization_id
-- endpoint: job-details
-- purpose: Open roles against joiners: how many roles each organisation has open, how long they stay open, and who joined.
-- note: The postings are those that were requested, which need not be all.
-- columns:
--   organization_id: The organisation.
--   postings: Known postings.
--   open_postings: Known postings that are open.
--   closed_postings: Known postings that are closed.
--   reposted_postings: Known postings that were listed again.
--   median_days_to_close: Median of the calendar days from the first listing of a closed posting to its closing; null without one.
--   joiners: People who joined in the 365 days before the newest answer about a posting of the organisation.
--   last_received_at: When a posting was last received, UTC.
with

postings as (
    select
        organization_id,
        cast(count(*) as integer) as postings,
        cast(count(case when closed_at is null and state = 'LISTED' then 1 end) as integer) as open_postings,
        cast(count(case when closed_at is not null or state = 'CLOSED' then 1 end) as integer) as closed_postings,
        cast(count(case when is_reposted then 1 end) as integer) as reposted_postings,
        cast(median(case when closed_at is not null then days_open end) as double) as median_days_to_close,
        max(last_received_at) as last_received_at
    from job_postings
    where organization_id is not null
    group by organization_id
),

joined as (
    select postings.organization_id, cast(count(*) as integer) as joiners
    from postings
    inner join joiners on joiners.organization_id = postings.organization_id
    where days_between(joiners.joined_at, postings.last_received_at) between 0 and 364
    group by postings.organization_id
)

select
    postings.organization_id,
    postings.postings,
    postings.open_postings,
    postings.closed_postings,
    postings.reposted_postings,
    postings.median_days_to_close,
    coalesce(joined.joiners, 0) as joiners,
    postings.last_received_at
from postings
left join joined on joined.organization_id = postings.organization_id
