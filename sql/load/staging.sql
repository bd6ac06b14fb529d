-- Temporary tables for one batch. They are made anew for each: deleted rows of a temporary table keep their memory.
-- Instants come as whole milliseconds since 1970 UTC in a double, which holds them exactly.

create or replace temp table staged_sightings (
    event_key varchar,
    profile_id varchar,
    organization_id varchar,
    event_type varchar,
    changed_ms double,
    detected_ms double,
    detection_lag_days integer,
    title_current varchar,
    title_previous varchar,
    person_handle varchar,
    person_full_name varchar,
    person_first_name varchar,
    person_last_name varchar,
    person_headline varchar,
    person_network_url varchar,
    organization_name varchar,
    organization_slug varchar,
    organization_network_url varchar,
    received_ms double,
    run_id varchar
);

create or replace temp table staged_runs as from ops.runs limit 0;
create or replace temp table staged_batches as from ops.batches limit 0;
create or replace temp table staged_pages as from ops.pages limit 0;
create or replace temp table staged_coverage as from ops.coverage limit 0;
create or replace temp table staged_quarantined as from ops.organizations_quarantined limit 0;
create or replace temp table staged_unknown_fields as from ops.unknown_fields limit 0;
create or replace temp table staged_asked as from ops.organizations_asked limit 0;
create or replace temp table staged_ids as from ops.organization_ids limit 0;
create or replace temp table staged_snapshots as from ops.snapshots limit 0;

-- The attributes of an event (a row of staged_sightings or of job_change_events) as one text. It only breaks ties between
-- sightings with the same times, so that the outcome does not depend on the order of loading.
create or replace temp macro attributes_of(event) as
    cast(json_array(event.detection_lag_days, event.title_current, event.title_previous, event.person_handle,
        event.person_full_name, event.person_first_name, event.person_last_name, event.person_headline,
        event.person_network_url, event.organization_name, event.organization_slug, event.organization_network_url
    ) as varchar);
