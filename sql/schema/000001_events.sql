-- The events as loaded, and corrected events as they were before. `load` writes them from the journal.

create table job_change_events (
    event_key varchar not null,
    profile_id varchar not null,
    organization_id varchar not null,
    event_type varchar not null,
    changed_at timestamptz not null,
    detected_at timestamptz not null,
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
    attributes_seen_at timestamptz not null,
    first_seen_at timestamptz not null,
    last_seen_at timestamptz not null,
    first_run_id varchar not null,
    last_run_id varchar not null,
    times_seen integer not null
);

comment on table job_change_events is 'One row per job-change event. Key: profile_id, organization_id, event_type, changed_at, and for title_change also title_current. Attributes are those of the newest sighting.';
comment on column job_change_events.event_key is 'Stable 128-bit hash of the natural key, 32 hexadecimal digits; unique.';
comment on column job_change_events.profile_id is 'The service''s stable id of the person.';
comment on column job_change_events.organization_id is 'The service''s stable id of the organisation.';
comment on column job_change_events.event_type is 'joined, left or title_change.';
comment on column job_change_events.changed_at is 'When the change took effect, UTC. Often known to the month only: then the first of that month.';
comment on column job_change_events.detected_at is 'When the service saw the change, UTC.';
comment on column job_change_events.detection_lag_days is 'Whole days between the change and its detection, as sent.';
comment on column job_change_events.title_current is 'The title after the change as written; for left, the title that was left.';
comment on column job_change_events.title_previous is 'The title before the change as written; meaningful for title_change and left.';
comment on column job_change_events.person_handle is 'The person''s public handle.';
comment on column job_change_events.person_full_name is 'The person''s full name as written.';
comment on column job_change_events.person_first_name is 'The person''s first name as written.';
comment on column job_change_events.person_last_name is 'The person''s last name as written.';
comment on column job_change_events.person_headline is 'The person''s headline when the change was detected.';
comment on column job_change_events.person_network_url is 'The person''s public page.';
comment on column job_change_events.organization_name is 'The organisation''s name as written.';
comment on column job_change_events.organization_slug is 'The trailing part of the organisation''s page URL; two organisations can share one.';
comment on column job_change_events.organization_network_url is 'The organisation''s public page.';
comment on column job_change_events.attributes_seen_at is 'When the page was received that the attributes of this row come from, UTC.';
comment on column job_change_events.first_seen_at is 'When the event was first received, UTC.';
comment on column job_change_events.last_seen_at is 'When the event was last received, UTC.';
comment on column job_change_events.first_run_id is 'The run that first received the event.';
comment on column job_change_events.last_run_id is 'The run that last received the event.';
comment on column job_change_events.times_seen is 'How often the event was received, repeats within a page included.';

create table job_change_event_versions (
    event_key varchar not null,
    profile_id varchar not null,
    organization_id varchar not null,
    event_type varchar not null,
    changed_at timestamptz not null,
    detected_at timestamptz not null,
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
    version_key varchar not null,
    first_seen_at timestamptz not null,
    last_seen_at timestamptz not null,
    first_run_id varchar not null
);
comment on table job_change_event_versions is 'One row per corrected event and distinct set of attributes, the present one included; an event that was never corrected has none. Key: event_key, version_key.';
comment on column job_change_event_versions.event_key is 'event_key of the event in job_change_events.';
comment on column job_change_event_versions.profile_id is 'The service''s stable id of the person.';
comment on column job_change_event_versions.organization_id is 'The service''s stable id of the organisation.';
comment on column job_change_event_versions.event_type is 'joined, left or title_change.';
comment on column job_change_event_versions.changed_at is 'When the change took effect, UTC; a correction of it is another event.';
comment on column job_change_event_versions.detected_at is 'When the service saw the change as this version tells it, UTC.';
comment on column job_change_event_versions.detection_lag_days is 'Whole days between the change and its detection, as sent.';
comment on column job_change_event_versions.title_current is 'The title after the change as written; for left, the title that was left.';
comment on column job_change_event_versions.title_previous is 'The title before the change as written.';
comment on column job_change_event_versions.person_handle is 'The person''s public handle.';
comment on column job_change_event_versions.person_full_name is 'The person''s full name as written.';
comment on column job_change_event_versions.person_first_name is 'The person''s first name as written.';
comment on column job_change_event_versions.person_last_name is 'The person''s last name as written.';
comment on column job_change_event_versions.person_headline is 'The person''s headline.';
comment on column job_change_event_versions.person_network_url is 'The person''s public page.';
comment on column job_change_event_versions.organization_name is 'The organisation''s name as written.';
comment on column job_change_event_versions.organization_slug is 'The trailing part of the organisation''s page URL.';
comment on column job_change_event_versions.organization_network_url is 'The organisation''s public page.';
comment on column job_change_event_versions.version_key is 'Hash of detected_at and the attributes, 32 hexadecimal digits.';
comment on column job_change_event_versions.first_seen_at is 'When this version was first received, UTC.';
comment on column job_change_event_versions.last_seen_at is 'When this version was last received, UTC.';
comment on column job_change_event_versions.first_run_id is 'The run that first received this version.';
