-- Merges the tables for operators. A staged row replaces the known row with the same key.

delete from ops.batches as known
using staged_batches as staged
where known.run_id = staged.run_id and known.batch_id = staged.batch_id;
insert into ops.batches from staged_batches order by run_id, batch_id;

-- A request without an answer adds nothing to a known request, in whatever order the two are loaded.
delete from staged_pages as staged
using ops.pages as known
where staged.received_at is null and known.request_id = staged.request_id;
delete from ops.pages as known using staged_pages as staged where known.request_id = staged.request_id;
insert into ops.pages from staged_pages order by request_id;

insert into ops.unknown_fields
select staged.field, staged.first_seen_at
from staged_unknown_fields as staged
where not exists (select 1 from ops.unknown_fields as known where known.field = staged.field)
order by staged.field;

delete from ops.snapshots as known
using staged_snapshots as staged
where known.snapshot_id = staged.snapshot_id;
insert into ops.snapshots from staged_snapshots order by snapshot_id;
