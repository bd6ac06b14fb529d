-- The tables that load fills, as they were known at the end of a day (UTC): each is the body of one table expression that comes
-- before the models in every macro <table>_as_known_on(day, seen_by). `seen_by` says whose knowledge: that of the service (by
-- detected_at) or that of this warehouse (by first_seen_at). A corrected event appears as it was known then.

-- table: job_change_events
select * exclude (attributes_seen_at, last_seen_at, last_run_id, times_seen)
from main.job_change_events
where
    event_key not in (select version.event_key from main.job_change_event_versions as version)
    and known_at_end_of(day, seen_by, detected_at, first_seen_at)
    and (organization is null or profile_id in (select profile_id from main.job_change_events where organization_id = organization_named(organization)))
union all by name
select * exclude (nth, version_key, last_seen_at)
from (
    select
        * replace (
            min(first_seen_at) over (partition by event_key) as first_seen_at,
            first_value(first_run_id) over (partition by event_key order by first_seen_at, first_run_id) as first_run_id
        ),
        row_number() over (
            partition by event_key
            order by
                detected_at desc,
                -- Of two versions detected at the same time, the one received later counts. Versions after the day do not
                -- count.
                case when seen_by = 'service' or last_seen_at < end_of_day(day) then last_seen_at else first_seen_at end desc,
                version_key desc
        ) as nth
    from main.job_change_event_versions
    where
        known_at_end_of(day, seen_by, detected_at, first_seen_at)
        and (organization is null or profile_id in (select profile_id from main.job_change_events where organization_id = organization_named(organization)))
)
where nth = 1

-- table: job_change_event_versions
select *
from main.job_change_event_versions
where
    known_at_end_of(day, seen_by, detected_at, first_seen_at)
    and (organization is null or profile_id in (select profile_id from main.job_change_events where organization_id = organization_named(organization)))

-- table: answers
select *
from main.answers
where received_at < end_of_day(day)

-- table: organization_coverage
-- The midnight that ends the day already belongs to the next day, and at the end of a month to the next month.
select
    organization_id,
    event_types,
    covered_from_at,
    least(covered_to_at, end_of_day(day) - interval 1 microsecond) as covered_to_at
from main.organization_coverage
where covered_from_at is null or covered_from_at < end_of_day(day)

-- table: organization_filters
select *
from main.organization_filters
where first_asked_at < end_of_day(day)

-- table: as_of
-- For all organisations, even when the query names one.
select utc_date(max(reached_at)) as as_of_on
from (
    select max(least(detected_at, first_seen_at)) as reached_at
    from main.job_change_events
    where known_at_end_of(day, seen_by, detected_at, first_seen_at)
    union all
    select max(least(detected_at, first_seen_at)) as reached_at
    from main.job_change_event_versions
    where known_at_end_of(day, seen_by, detected_at, first_seen_at)
    union all
    select max(covered_to_at) as reached_at
    from organization_coverage
)
having max(reached_at) is not null

-- table: transfers
-- A deal shows in the moves of many people, including people who were never at the queried organisation: transfers are shown as
-- known today.
select left_event_key, joined_event_key, kind
from core.transfers

-- table: duplicate_marks
-- Duplicates of people and organisations also show in the events of many people: they are shown as known today.
select profile_id, organization_id, duplicate_of_profile_id, duplicate_of_organization_id
from core.duplicate_marks

-- macro: end_of_day(day)
cast(cast(day as date) + 1 as timestamp) at time zone 'UTC'

-- macro: known_at_end_of(day, seen_by, detected_at, first_seen_at)
case seen_by
    when 'service' then detected_at < end_of_day(day)
    when 'warehouse' then first_seen_at < end_of_day(day)
    else error('seen_by is ''service'' or ''warehouse'', not ''' || seen_by || '''')
end

-- macro: organization_named(id_or_name)
(
    select
        case
            when id_or_name is null then null
            when count(*) filter (where organization_id = id_or_name) = 1 then id_or_name
            when count(*) = 1 then min(organization_id)
            else error(count(*) || ' organisations have the id or the name ' || id_or_name)
        end
    from main.organizations
    where organization_id = id_or_name or lower(name) = lower(id_or_name)
)
