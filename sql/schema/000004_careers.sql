-- What the models need beside the events: corrected events as they were before, what was looked at, and whom a load
-- touched since the last build.

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

create view organization_coverage as
select
    coalesce(ids.organization_id, coverage.organization_id) as organization_id,
    coverage.event_types,
    -- Null is the beginning of time, so it comes before any other start of the same interval.
    case when count(*) = count(coverage.covered_from) then min(coverage.covered_from) end as covered_from_at,
    coverage.covered_to as covered_to_at
from ops.coverage as coverage
left join ops.organization_ids as ids on ids.asked_as = coverage.organization_id
group by 1, 2, 4;
comment on view organization_coverage is 'One row per organisation, event types and unbroken interval of detection time that was read to the end: what lies outside was not looked at. Key: organization_id, event_types, covered_to_at.';
comment on column organization_coverage.organization_id is 'The organisation: its id, or the URL or slug it was asked by until the id is known.';
comment on column organization_coverage.event_types is 'joined, left, title_change: those asked, comma-separated.';
comment on column organization_coverage.covered_from_at is 'Start of the interval, UTC; null means from the beginning.';
comment on column organization_coverage.covered_to_at is 'End of the interval, UTC.';

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

-- A model from now on; the mark lets the next good build put its own table in place of the loaded one.
comment on table person_organizations is 'One row per person and organisation: the current state of that pair. Key: profile_id, organization_id. Model: marts/person_organizations.sql';
