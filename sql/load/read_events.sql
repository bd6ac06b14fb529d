-- Reads the events of several pages at once. `is_read` is true where the result certainly equals that of src/api/schemas.ts.
-- That module reads the rest one by one: events that do not fit, repeated keys, control characters, odd numbers, dates and ids,
-- and pages without a row. $1 to $4 are the pages: their numbers, runs, times of receipt and bodies as received. `fields` are
-- the names of an event's members, as JSON; null for those that every event has.

create or replace temp table page_events as
with
    sent_bodies as (
        select
            unnest(cast($1 as integer[])) as nth,
            unnest(cast($2 as varchar[])) as run_id,
            unnest(cast($3 as timestamptz[])) as received_at,
            unnest(cast($4 as blob[])) as body
    ),

    -- One thread reads a list, but all threads read groups.
    bodies as (
        select nth, any_value(run_id) as run_id, any_value(received_at) as received_at, any_value(body) as body
        from sent_bodies
        group by nth
    ),

    -- Pages that the engine accepts as JSON, as JavaScript does.
    pages as (
        select nth, received_at, run_id, decode(body) as body
        from bodies
        where len(list_filter(try(json_keys(decode(body))), lambda field: field = 'data')) = 1
    ),

    lists as (
        select nth, received_at, run_id, json_extract(body, '$.data[*]') as events
        from pages
    ),

    sent as (
        select
            nth,
            received_at,
            run_id,
            unnest(events) as event,
            unnest(range(1, len(events) + 1)) as position
        from lists
    ),

    parsed as (
        select
            * exclude (event),
            json_keys(event, ['$', '$.title', '$.person', '$.organization']) as fields,
            -- Control characters arrive as escapes. A key is a hash of the text as JavaScript writes it, without byte order
            -- marks.
            contains(event, '\u') or contains(event, chr(65279)) as has_escapes,
            from_json(event, '{
                "event_type": "JSON", "detected_at": "JSON", "changed_at": "JSON", "detection_lag_days": "JSON",
                "title": {"current": "JSON", "previous": "JSON"},
                "person": {"profile_id": "JSON", "handle": "JSON", "full_name": "JSON", "first_name": "JSON",
                    "last_name": "JSON", "headline": "JSON", "network_url": "JSON"},
                "organization": {"organization_id": "JSON", "name": "JSON", "slug": "JSON", "network_url": "JSON"}
            }') as leaf
        from sent
    ),

    judged as (
        select
            *,
            whole_ms(sent_instant_us(leaf.changed_at)) as changed_us,
            whole_ms(sent_instant_us(leaf.detected_at)) as detected_us,
            not has_escapes
                and len(fields[2]) > 0 and len(fields[3]) > 0 and len(fields[4]) > 0
                and leaf.event_type in ('"joined"', '"left"', '"title_change"')
                and is_plain_instant(leaf.changed_at) and is_plain_instant(leaf.detected_at)
                and (leaf.detection_lag_days is null or regexp_full_match(leaf.detection_lag_days, '-?\d{1,9}'))
                and is_text(leaf.title.current) and is_text(leaf.title.previous)
                and is_plain_id(leaf.person.profile_id)
                and is_text(leaf.person.handle) and is_text(leaf.person.full_name)
                and is_text(leaf.person.first_name) and is_text(leaf.person.last_name)
                and is_text(leaf.person.headline) and is_text(leaf.person.network_url)
                and is_plain_id(leaf.organization.organization_id)
                and is_text(leaf.organization.name) and is_text(leaf.organization.slug)
                and is_text(leaf.organization.network_url) as fits
        from parsed
    )

select
    nth,
    cast(position as integer) as position,
    coalesce(fits and changed_us is not null and detected_us is not null, false) as is_read,
    case when fields is distinct from usual_fields() then cast(to_json(fields) as varchar) end as fields,
    -- As eventKey in src/load/read-events.ts.
    sha256(concat(
        '[', leaf.person.profile_id, ',', leaf.organization.organization_id, ',', leaf.event_type, ',', changed_us // 1000,
        case when leaf.event_type = '"title_change"' then ',' || coalesce(leaf.title.current, '""') end, ']'
    ))[:32] as event_key,
    leaf.person.profile_id ->> '$' as profile_id,
    leaf.organization.organization_id ->> '$' as organization_id,
    leaf.event_type ->> '$' as event_type,
    make_timestamptz(changed_us) as changed_at,
    make_timestamptz(detected_us) as detected_at,
    try_cast(leaf.detection_lag_days as integer) as detection_lag_days,
    leaf.title.current ->> '$' as title_current,
    leaf.title.previous ->> '$' as title_previous,
    leaf.person.handle ->> '$' as person_handle,
    leaf.person.full_name ->> '$' as person_full_name,
    leaf.person.first_name ->> '$' as person_first_name,
    leaf.person.last_name ->> '$' as person_last_name,
    leaf.person.headline ->> '$' as person_headline,
    leaf.person.network_url ->> '$' as person_network_url,
    leaf.organization.name ->> '$' as organization_name,
    leaf.organization.slug ->> '$' as organization_slug,
    leaf.organization.network_url ->> '$' as organization_network_url,
    received_at,
    run_id
from judged;
