-- What operators read. Staged rows are whole rows that replace what was known of the same thing.

delete from ops.runs as known using staged_runs as staged where known.run_id = staged.run_id;
insert into ops.runs from staged_runs order by run_id;

delete from ops.batches as known
using staged_batches as staged
where known.run_id = staged.run_id and known.batch_id = staged.batch_id;
insert into ops.batches from staged_batches order by run_id, batch_id;

-- A request without an answer says nothing new of one that is known, in whatever order the two are loaded.
delete from staged_pages as staged
using ops.pages as known
where staged.received_at is null and known.request_id = staged.request_id;
delete from ops.pages as known using staged_pages as staged where known.request_id = staged.request_id;
insert into ops.pages from staged_pages order by request_id;

merge into ops.organizations_quarantined as known
using staged_quarantined as staged
on known.organization = staged.organization
when matched and staged.quarantined_at >= known.quarantined_at then update set
    reason = staged.reason,
    run_id = staged.run_id,
    quarantined_at = staged.quarantined_at
when not matched then insert;

insert into ops.unknown_fields
select staged.field, staged.first_seen_at
from staged_unknown_fields as staged
where not exists (select 1 from ops.unknown_fields as known where known.field = staged.field)
order by staged.field;

delete from ops.snapshots as known
using staged_snapshots as staged
where known.snapshot_id = staged.snapshot_id;
insert into ops.snapshots from staged_snapshots order by snapshot_id;

merge into ops.organizations_asked as known
using staged_asked as staged
on known.asked_as = staged.asked_as
when matched then update set
    first_asked_at = least(known.first_asked_at, staged.first_asked_at),
    last_asked_at = greatest(known.last_asked_at, staged.last_asked_at)
when not matched then insert;

merge into ops.organization_ids as known
using staged_ids as staged
on known.asked_as = staged.asked_as
when matched and row(staged.learnt_at, staged.organization_id) > row(known.learnt_at, known.organization_id)
    then update set
        organization_id = staged.organization_id,
        run_id = staged.run_id,
        learnt_at = staged.learnt_at
when not matched then insert;

-- Coverage: the intervals of the organisations touched, old and new, joined where they touch or overlap. An interval
-- without a beginning begins before all others. What was covered under a URL or slug is covered for the id learnt for it.
create or replace temp table touched_organizations as
select organization_id from staged_coverage
union
select ids.organization_id
from staged_coverage as staged
join ops.organization_ids as ids on ids.asked_as = staged.organization_id
union
select asked_as from staged_ids
union
select ids.organization_id
from staged_ids as staged
join ops.organization_ids as ids on ids.asked_as = staged.asked_as;

create or replace temp table joined_coverage as
with
    as_asked as (
        select organization_id, event_types, covered_from, covered_to
        from staged_coverage
        union all
        select known.organization_id, known.event_types, known.covered_from, known.covered_to
        from ops.coverage as known
        semi join touched_organizations as touched on touched.organization_id = known.organization_id
    ),

    intervals as (
        select
            coalesce(ids.organization_id, as_asked.organization_id) as organization_id,
            as_asked.event_types,
            as_asked.covered_from,
            as_asked.covered_to
        from as_asked
        left join ops.organization_ids as ids on ids.asked_as = as_asked.organization_id
    ),

    ordered as (
        select
            *,
            max(covered_to) over (
                partition by organization_id, event_types
                order by covered_from nulls first, covered_to
                rows between unbounded preceding and 1 preceding
            ) as covered_before
        from intervals
    ),

    islands as (
        select
            *,
            sum(case when covered_from is null or covered_from <= covered_before then 0 else 1 end) over (
                partition by organization_id, event_types
                order by covered_from nulls first, covered_to
                rows between unbounded preceding and current row
            ) as island
        from ordered
    )

select
    organization_id,
    event_types,
    case when bool_or(covered_from is null) then null else min(covered_from) end as covered_from,
    max(covered_to) as covered_to
from islands
group by organization_id, event_types, island;

delete from ops.coverage as known
using touched_organizations as touched
where known.organization_id = touched.organization_id;
insert into ops.coverage from joined_coverage order by organization_id, event_types, covered_to;
