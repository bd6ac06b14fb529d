-- What operators read. All but ops.checks are projections of the journal: `jobtide replay` rebuilds them.

comment on table ops.schema_files is 'One row per schema file that was applied. Key: file_name.';
comment on column ops.schema_files.file_name is 'Name of the file in sql/schema.';
comment on column ops.schema_files.sha256 is 'SHA-256 of the file as applied: it must not change afterwards.';

create table ops.journal_positions (
    segment varchar not null,
    bytes bigint not null
);
comment on table ops.journal_positions is 'One row per journal segment: how far it is loaded. Key: segment. Moves in the same transaction as the rows.';
comment on column ops.journal_positions.segment is 'File name of the journal segment.';
comment on column ops.journal_positions.bytes is 'Bytes of the segment that are loaded.';

create table ops.runs (
    run_id varchar not null,
    pipeline varchar not null,
    kind varchar not null,
    started_at timestamptz not null,
    finished_at timestamptz,
    outcome varchar not null,
    exit_code integer,
    message varchar,
    organizations integer not null,
    batches integer not null,
    credits_limit integer,
    resumed integer not null
);
comment on table ops.runs is 'One row per run: one attempt of a pipeline. Key: run_id.';
comment on column ops.runs.run_id is 'ULID; sorts by start.';
comment on column ops.runs.pipeline is 'Name of the pipeline.';
comment on column ops.runs.kind is 'run, backfill, extract or plan (begun by `plan --sample`).';
comment on column ops.runs.started_at is 'When the run was planned, UTC.';
comment on column ops.runs.finished_at is 'When the run ended, UTC; null while it runs or when it was killed.';
comment on column ops.runs.outcome is 'unfinished, done, sampled, budget, unavailable, refused, interrupted, failed or abandoned.';
comment on column ops.runs.exit_code is 'Exit code of the process that finished the run.';
comment on column ops.runs.message is 'Why the run ended as it did, where there is more to say than done.';
comment on column ops.runs.organizations is 'Organisations planned.';
comment on column ops.runs.batches is 'Batches planned.';
comment on column ops.runs.credits_limit is 'Credits the run may spend; null for no limit.';
comment on column ops.runs.resumed is 'How often the run was resumed after it stopped.';

create table ops.batches (
    run_id varchar not null,
    batch_id varchar not null,
    organizations integer not null,
    days_ago integer,
    event_types varchar not null,
    state varchar not null,
    pages integer,
    events integer,
    covered_from timestamptz,
    covered_to timestamptz,
    finished_at timestamptz
);
comment on table ops.batches is 'One row per batch: one batch of at most 50 organisations, one window, the event types asked. Key: run_id, batch_id.';
comment on column ops.batches.run_id is 'The run the batch belongs to.';
comment on column ops.batches.batch_id is 'Name of the batch within its run.';
comment on column ops.batches.organizations is 'Organisations in the batch.';
comment on column ops.batches.days_ago is 'The window asked, in days of detection time; null asks for all events.';
comment on column ops.batches.event_types is 'joined, left, title_change: those asked, comma-separated.';
comment on column ops.batches.state is 'planned, finished or split.';
comment on column ops.batches.pages is 'Pages read to the end of the batch, an empty last one included.';
comment on column ops.batches.events is 'Events received in those pages.';
comment on column ops.batches.covered_from is 'Start of the detection time covered, UTC; null means from the beginning.';
comment on column ops.batches.covered_to is 'End of the detection time covered, UTC: the server''s time of the first page.';
comment on column ops.batches.finished_at is 'When the batch was read to its end, UTC.';

create table ops.pages (
    run_id varchar not null,
    batch_id varchar not null,
    page integer not null,
    request_id varchar not null,
    requested_at timestamptz not null,
    received_at timestamptz,
    status integer,
    outcome varchar not null,
    events integer,
    credits_used double,
    credits_sent varchar,
    has_more boolean,
    body_sha256 varchar,
    error varchar
);
comment on table ops.pages is 'The ledger: one row per request, failed ones included. Key: request_id.';
comment on column ops.pages.run_id is 'The run that asked.';
comment on column ops.pages.batch_id is 'The batch that was asked for.';
comment on column ops.pages.page is 'The page number asked for, from 1.';
comment on column ops.pages.request_id is 'Names one request; unique.';
comment on column ops.pages.requested_at is 'When the request was written down, just before it was sent, UTC.';
comment on column ops.pages.received_at is 'When the answer was complete, UTC; null when there was none.';
comment on column ops.pages.status is 'HTTP status; null when there was no answer.';
comment on column ops.pages.outcome is 'received (a page), failed (free of charge), or in_doubt (sent, no whole answer: perhaps billed; also a request under way).';
comment on column ops.pages.events is 'Events in the page.';
comment on column ops.pages.credits_used is 'Credits charged, as the service reported them where that can be the price (a whole number up to 100, and 10 or more for a page with events), else as expected; for in_doubt the 10 that may have been billed.';
comment on column ops.pages.credits_sent is 'What the service reported as the charge, where that cannot be the price; else null.';
comment on column ops.pages.has_more is 'Whether the service said that more pages follow.';
comment on column ops.pages.body_sha256 is 'SHA-256 of the page body as received.';
comment on column ops.pages.error is 'What went wrong, where something did.';

create table ops.page_organizations (
    request_id varchar not null,
    organization_id varchar not null,
    events integer not null
);
comment on table ops.page_organizations is 'One row per page and organisation with events in it: who a page was paid for. Key: request_id, organization_id.';
comment on column ops.page_organizations.request_id is 'The request whose answer the page is.';
comment on column ops.page_organizations.organization_id is 'The organisation.';
comment on column ops.page_organizations.events is 'Its events in the page, those known already included.';

create table ops.coverage (
    organization_id varchar not null,
    event_types varchar not null,
    covered_from timestamptz,
    covered_to timestamptz not null
);
comment on table ops.coverage is 'One row per organisation, event types and unbroken interval of detection time that was read to the end. Key: organization_id, event_types, covered_to.';
comment on column ops.coverage.organization_id is 'The organisation: its id, or the URL or slug it was asked by until the id is known.';
comment on column ops.coverage.event_types is 'joined, left, title_change: those asked, comma-separated.';
comment on column ops.coverage.covered_from is 'Start of the interval, UTC; null means from the beginning.';
comment on column ops.coverage.covered_to is 'End of the interval, UTC.';

create table ops.organization_ids (
    asked_as varchar not null,
    organization_id varchar not null,
    learnt_at timestamptz not null
);
comment on table ops.organization_ids is 'One row per URL or slug whose id became known from its events. Key: asked_as.';
comment on column ops.organization_ids.asked_as is 'The URL or slug as it was asked for.';
comment on column ops.organization_ids.organization_id is 'The id by which it is asked for since.';
comment on column ops.organization_ids.learnt_at is 'When the id was learnt, UTC.';

create table ops.organizations_asked (
    organization_id varchar not null,
    first_asked_at timestamptz not null,
    last_asked_at timestamptz not null
);
comment on table ops.organizations_asked is 'One row per organisation in a batch that was read to its end. Key: organization_id.';
comment on column ops.organizations_asked.organization_id is 'Its id, or the URL or slug it was asked by until the id is known.';
comment on column ops.organizations_asked.first_asked_at is 'When the first such batch was read to its end, UTC.';
comment on column ops.organizations_asked.last_asked_at is 'When the last such batch was read to its end, UTC.';

create table ops.organizations_quarantined (
    organization_id varchar not null,
    reason varchar not null,
    quarantined_at timestamptz not null
);
comment on table ops.organizations_quarantined is 'One row per organisation that the service refused, and that was not read since. Key: organization_id.';
comment on column ops.organizations_quarantined.organization_id is 'Its id, or the URL or slug it was asked by.';
comment on column ops.organizations_quarantined.reason is 'What the service said.';
comment on column ops.organizations_quarantined.quarantined_at is 'When the service refused it, UTC.';

create table ops.rejects (
    run_id varchar not null,
    batch_id varchar not null,
    page integer not null,
    request_id varchar not null,
    position integer not null,
    reason varchar not null,
    event varchar not null,
    received_at timestamptz not null
);
comment on table ops.rejects is 'One row per event that does not fit, kept with the reason; the rest of its page is loaded. Key: request_id, position.';
comment on column ops.rejects.run_id is 'The run that received the event.';
comment on column ops.rejects.batch_id is 'The batch the page belongs to.';
comment on column ops.rejects.page is 'The page number.';
comment on column ops.rejects.request_id is 'The request whose answer held the event.';
comment on column ops.rejects.position is 'Place of the event in its page, from 1.';
comment on column ops.rejects.reason is 'Field and what is wrong with it.';
comment on column ops.rejects.event is 'The event as sent, JSON; a fixed text where it is nested too deeply to be written.';
comment on column ops.rejects.received_at is 'When the page was received, UTC.';

create table ops.unknown_fields (
    field varchar not null,
    first_seen_at timestamptz not null
);
comment on table ops.unknown_fields is 'One row per field of an event that Jobtide does not know; the values are in the journal. Key: field.';
comment on column ops.unknown_fields.field is 'Path of the field, such as person.pronouns.';
comment on column ops.unknown_fields.first_seen_at is 'When it was first received, UTC.';

create table ops.checks (
    check_name varchar not null,
    build_id varchar not null,
    checked_at timestamptz not null,
    offenders integer not null,
    sample varchar
);
comment on table ops.checks is 'One row per check of the last build. Key: check_name.';
comment on column ops.checks.check_name is 'The check: the name of a file in sql/checks, or one made from the header of a model.';
comment on column ops.checks.build_id is 'The build that ran it.';
comment on column ops.checks.checked_at is 'When, UTC.';
comment on column ops.checks.offenders is 'Rows that break it; 0 is a pass.';
comment on column ops.checks.sample is 'Up to five offending rows, JSON.';

create table ops.snapshots (
    snapshot_id varchar not null,
    run_id varchar,
    destination varchar not null,
    published_at timestamptz not null,
    tables integer not null,
    files integer not null,
    new_files integer not null,
    row_count bigint not null,
    bytes bigint not null,
    new_bytes bigint not null
);
comment on table ops.snapshots is 'One row per published snapshot. Key: snapshot_id.';
comment on column ops.snapshots.snapshot_id is 'ULID of the snapshot.';
comment on column ops.snapshots.run_id is 'The run that published it; null for a publish by itself.';
comment on column ops.snapshots.destination is 'Folder or s3:// address.';
comment on column ops.snapshots.published_at is 'When the pointer was moved to it, UTC.';
comment on column ops.snapshots.tables is 'Tables in the snapshot.';
comment on column ops.snapshots.files is 'Parquet files the snapshot names.';
comment on column ops.snapshots.new_files is 'Parquet files that were not there before.';
comment on column ops.snapshots.row_count is 'Rows in all tables.';
comment on column ops.snapshots.bytes is 'Bytes of all files.';
comment on column ops.snapshots.new_bytes is 'Bytes of the new files.';

create table ops.changed_people (
    profile_id varchar not null
);
comment on table ops.changed_people is 'People with new or changed events since the last good build, some more than once: what that build has to look at.';
comment on column ops.changed_people.profile_id is 'The service''s stable id of the person.';

create table ops.build_state (
    key varchar not null,
    value varchar not null
);
comment on table ops.build_state is 'What the tables of the last good build were made from, so that the next one knows what it can keep. Key: key.';
comment on column ops.build_state.key is 'What is known.';
comment on column ops.build_state.value is 'Its value, a text.';

create table ops.suppression (
    list varchar,
    is_rewritten boolean not null
);
comment on table ops.suppression is 'One row: which suppression list this warehouse follows; none before the first load. A warehouse from a backup follows an older one, and `jobtide load` takes out who was erased since.';
comment on column ops.suppression.list is 'The MAC of the list; null where there is none.';
comment on column ops.suppression.is_rewritten is 'Whether the file was written again since rows were deleted, so that no byte of them is left. The end of each run does it.';

create table ops.segments_to_erase (
    segment varchar not null
);
comment on table ops.segments_to_erase is 'One row per journal segment that holds events which are not kept; load left them out. Key: segment. The end of each run, and `jobtide forget`, take them out of the segment.';
comment on column ops.segments_to_erase.segment is 'File name of the journal segment.';
