-- Events as received in one chunk, in a database in memory: several connections fill it, and a temporary table is seen by one
-- only.

create or replace table jobtide_load.sightings (
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

