-- The setup of a connection that reads pages: macros, and temporary tables for some pages at a time: the member names of events
-- that name a member twice; people in them whose events are not kept; and events that JavaScript has read.

-- A member of an event as JSON text: null where it is missing or null.
create or replace temp macro is_text(leaf) as leaf is null or starts_with(leaf, '"');
-- Printable ASCII without quotes and backslashes.
create or replace temp macro is_plain_id(leaf) as regexp_full_match(leaf, '"[ !#-\[\]-~]+"');
create or replace temp macro is_plain_instant(leaf) as regexp_full_match(leaf,
    '"(1[6-9]|[2-8]\d|9[0-8])\d\d-\d\d-\d\d([T ]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-](0\d|1[0-4]):[0-5]\d)?)?"');
create or replace temp macro has_zone(leaf) as regexp_matches(substring(leaf, 12), '(Z|[+-]\d\d:\d\d)"$');
-- Microseconds since 1970 UTC, truncated to milliseconds; null where the day does not exist.
create or replace temp macro instant_of(leaf) as epoch_us(
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

create or replace temp table repeated_fields (fields varchar);
create or replace temp table erased_people (profile_id varchar);
create or replace temp table others as from jobtide_load.sightings limit 0;
