-- The setup of a chunk of the journal: macros, and temporary tables. These are created again for each chunk, because deleted
-- rows of a temporary table keep their memory.

create or replace temp table staged_batches as from ops.batches limit 0;
create or replace temp table staged_pages as from ops.pages limit 0;
create or replace temp table staged_unknown_fields as from ops.unknown_fields limit 0;
create or replace temp table staged_snapshots as from ops.snapshots limit 0;
create or replace temp table staged_answers as from answers limit 0;

-- Events as received. The columns are those of the events table except the counts over all sightings of an event.
create or replace temp table staged_sightings as
select
    event.* exclude (attributes_seen_at, first_seen_at, last_seen_at, first_run_id, last_run_id, times_seen),
    cast(null as timestamptz) as received_at,
    cast(null as varchar) as run_id
from job_change_events as event
limit 0;

-- The attributes of an event (a row of staged_sightings or of job_change_events) as one text. It only breaks ties
-- between sightings with equal times, so that the result does not depend on the order of loading.
create or replace temp macro attributes_of(event) as
    cast(json_array(event.detection_lag_days, event.title_current, event.title_previous, event.person_handle,
        event.person_full_name, event.person_first_name, event.person_last_name, event.person_headline,
        event.person_network_url, event.organization_name, event.organization_slug, event.organization_network_url
    ) as varchar);

-- A member of an event as JSON text: null where it is missing or null.
create or replace temp macro is_text(leaf) as leaf is null or starts_with(leaf, '"');
-- Printable ASCII without quotes and backslashes.
create or replace temp macro is_plain_id(leaf) as regexp_full_match(leaf, '"[ !#-\[\]-~]+"');
create or replace temp macro is_plain_instant(leaf) as regexp_full_match(leaf,
    '"(1[6-9]|[2-8]\d|9[0-8])\d\d-\d\d-\d\d([T ]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-](0\d|1[0-4]):[0-5]\d)?)?"');
create or replace temp macro has_zone(leaf) as regexp_matches(substring(leaf, 12), '(Z|[+-]\d\d:\d\d)"$');
-- Microseconds since 1970 UTC, truncated to milliseconds; null where the day does not exist.
create or replace temp macro sent_instant_us(leaf) as epoch_us(
    try_cast(
        case when has_zone(leaf) then leaf[2:-2] when length(leaf) = 12 then leaf[2:-2] || 'T00:00:00Z' else leaf[2:-2] || 'Z' end
        as timestamptz
    ));
create or replace temp macro whole_ms(us) as us - (us % 1000 + 1000) % 1000;

-- The names of the members of an event and of its parts, as the service documents them.
create or replace temp macro usual_fields() as [
    ['event_type', 'detected_at', 'changed_at', 'detection_lag_days', 'title', 'person', 'organization'],
    ['current', 'previous'],
    ['profile_id', 'handle', 'full_name', 'first_name', 'last_name', 'headline', 'network_url'],
    ['organization_id', 'name', 'slug', 'network_url']
];
