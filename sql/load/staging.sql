-- Temporary tables for one chunk of the journal. They are created again for each chunk, because deleted rows of a temporary
-- table keep their memory.

create or replace temp table staged_batches as from ops.batches limit 0;
create or replace temp table staged_pages as from ops.pages limit 0;
create or replace temp table staged_unknown_fields as from ops.unknown_fields limit 0;
create or replace temp table staged_snapshots as from ops.snapshots limit 0;
create or replace temp table staged_answers as from answers limit 0;

-- The attributes of an event (a row of jobtide_load.staged_sightings or of job_change_events) as one text. It only breaks ties
-- between sightings with equal times, so that the result does not depend on the order of loading.
create or replace temp macro attributes_of(event) as
    cast(json_array(event.detection_lag_days, event.title_current, event.title_previous, event.person_handle,
        event.person_full_name, event.person_first_name, event.person_last_name, event.person_headline,
        event.person_network_url, event.organization_name, event.organization_slug, event.organization_network_url
    ) as varchar);
