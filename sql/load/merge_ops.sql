-- What operators read. Staged rows are whole rows that replace what was known of the same thing.

delete from ops.runs as known using staged_runs as staged where known.run_id = staged.run_id;
insert into ops.runs from staged_runs order by run_id;

delete from ops.slices as known
using staged_slices as staged
where known.run_id = staged.run_id and known.slice_id = staged.slice_id;
insert into ops.slices from staged_slices order by run_id, slice_id;

delete from ops.pages as known using staged_pages as staged where known.request_id = staged.request_id;
insert into ops.pages from staged_pages order by request_id;

delete from ops.organizations_set_aside as known
using staged_set_aside as staged
where known.organization = staged.organization;
insert into ops.organizations_set_aside from staged_set_aside order by organization;

insert into ops.unknown_fields
select staged.field, staged.first_seen_at
from staged_unknown_fields as staged
where not exists (select 1 from ops.unknown_fields as known where known.field = staged.field)
order by staged.field;

delete from ops.snapshots as known
using staged_snapshots as staged
where known.snapshot_id = staged.snapshot_id;
insert into ops.snapshots from staged_snapshots order by snapshot_id;

-- Coverage: the intervals of the organisations touched, old and new, joined where they touch or overlap. An interval
-- without a beginning begins before all others.
create or replace temp table joined_coverage as
with
    intervals as (
        select organization_id, event_types, covered_from, covered_to
        from staged_coverage
        union all
        select known.organization_id, known.event_types, known.covered_from, known.covered_to
        from ops.coverage as known
        where exists (
            select 1
            from staged_coverage as staged
            where staged.organization_id = known.organization_id and staged.event_types = known.event_types
        )
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
using staged_coverage as staged
where known.organization_id = staged.organization_id and known.event_types = staged.event_types;
insert into ops.coverage from joined_coverage order by organization_id, event_types, covered_to;
