-- Temporary tables for some pages of a chunk: their bodies as received, one row for each page; the member names of events that
-- name a member twice; and people in them whose events are not kept.

create or replace temp table staged_bodies (
    nth integer,
    run_id varchar,
    received_at timestamptz,
    has_foreign boolean,
    body blob
);
create or replace temp table staged_repeated_fields (fields varchar);
create or replace temp table staged_erased_people (profile_id varchar);
