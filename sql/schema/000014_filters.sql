-- What was asked with filters: it says nothing of how far an organisation was looked at.

alter table ops.batches add column filters varchar;
comment on column ops.batches.filters is 'What narrowed the question, such as title="Vice President" geo_city=London; null where all changes were asked for.';
comment on table ops.batches is 'One row per batch: one batch of at most 50 organisations, one window, the event types and filters asked. Key: run_id, batch_id.';

comment on table ops.coverage is 'One row per organisation, event types and unbroken interval of detection time that was read to the end, without filters. Key: organization_id, event_types, covered_to.';
comment on view organization_coverage is 'One row per organisation, event types and unbroken interval of detection time that was read to the end, without filters: what lies outside was not looked at. Key: organization_id, event_types, covered_to_at.';

create table ops.organization_filters (
    organization_id varchar not null,
    filters varchar not null,
    first_asked_at timestamptz not null,
    covered_to timestamptz
);
comment on table ops.organization_filters is 'One row per organisation and filters that it was asked for with. Key: organization_id, filters.';
comment on column ops.organization_filters.organization_id is 'The organisation: its id, or the URL or slug it was asked by until the id is known.';
comment on column ops.organization_filters.filters is 'What narrowed the question, such as title="Vice President" geo_city=London.';
comment on column ops.organization_filters.first_asked_at is 'When a run first asked for it with these filters, UTC.';
comment on column ops.organization_filters.covered_to is 'Up to when it was read with them, UTC; null where nothing was read to its end yet.';

create view organization_filters as
select
    organization_id,
    filters,
    first_asked_at,
    covered_to as covered_to_at
from ops.organization_filters;
comment on view organization_filters is 'One row per organisation and filters that it was asked for with: no such reading makes an organisation observed. Key: organization_id, filters.';
comment on column organization_filters.organization_id is 'The organisation: its id, or the URL or slug it was asked by until the id is known.';
comment on column organization_filters.filters is 'What narrowed the question, such as title="Vice President" geo_city=London.';
comment on column organization_filters.first_asked_at is 'When a run first asked for it with these filters, UTC.';
comment on column organization_filters.covered_to_at is 'Up to when it was read with them, UTC; null where nothing was read to its end yet.';
