-- Temporary tables for one chunk of the journal. They are created again for each chunk: deleted rows of a temporary table keep
-- their memory.

-- Events as received. `is_read` is false for an event that JavaScript has to read; `fields` are the names of its members,
-- as JSON.
create or replace temp table staged_sightings (
    nth integer,
    position integer,
    is_read boolean,
    fields varchar,
    event_key varchar,
    profile_id varchar,
    organization_id varchar,
    event_type varchar,
    changed_at timestamptz,
    detected_at timestamptz,
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
    received_at timestamptz,
    run_id varchar
);

create or replace temp table staged_batches as from ops.batches limit 0;
create or replace temp table staged_pages as from ops.pages limit 0;
create or replace temp table staged_unknown_fields as from ops.unknown_fields limit 0;
create or replace temp table staged_snapshots as from ops.snapshots limit 0;

-- The attributes of an event (a row of staged_sightings or of job_change_events) as one text. It only breaks ties between
-- sightings with the same times, so that the outcome does not depend on the order of loading.
create or replace temp macro attributes_of(event) as
    cast(json_array(event.detection_lag_days, event.title_current, event.title_previous, event.person_handle,
        event.person_full_name, event.person_first_name, event.person_last_name, event.person_headline,
        event.person_network_url, event.organization_name, event.organization_slug, event.organization_network_url
    ) as varchar);
