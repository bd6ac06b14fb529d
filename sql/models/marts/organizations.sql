-- grain: One row per organisation that is in an event or in coverage.
-- key: organization_id
-- purpose: The name of each organisation, how much is known of it, and the period for which it was observed.
-- note: Dates are kept to the month, so that a day without news changes nothing here; organization_coverage has the instants.
-- note: Counts end in _ever or start with people_: they cover all time, and differ in name from the counts of other tables, so
-- note: that a join makes none of them ambiguous. Joiners, leavers, promotions and boomerangs are of main jobs; side roles
-- note: (boards, advisers) are not counted here.
-- columns:
--   organization_id: The service's stable id of the organisation, or the URL or slug of the request until the id is known.
--   name: The organisation's name as written in the event detected last; null without events.
--   slug: The trailing part of the organisation's page URL, from the event detected last; two organisations can share one.
--   url: The organisation's public page, from the event detected last.
--   events: The organisation's events in job_change_events.
--   undated_events: Events whose date is implausible, such as 0001 or 1970-01-01: their precision is unknown.
--   people_ever: People with any event at the organisation.
--   people_duplicated: People of people_ever whose profile, or whose id of the organisation, is not the one to keep (duplicate_people, duplicate_organizations). All figures of this table count them as well.
--   people_now: People who have a main job there according to the data; each was seen to change something. For a headcount use organization_headcounts.
--   joiners_ever: Joinings seen, excluding side roles and transfers.
--   leavers_ever: Leavings seen, excluding side roles and transfers.
--   promotions_ever: Promotions seen, excluding those into side roles.
--   boomerangs_ever: Joiners who had been there before.
--   first_event_at: When the earliest change took effect, UTC.
--   last_event_at: When the latest change took effect, UTC; in the future where one was announced.
--   last_detected_at: When the service saw the organisation's newest event, UTC; no later than the event was received.
--   observed_from_on: First day, UTC, of the first whole month for which joinings and leavings were requested without a gap until observed_until_on; null where they were requested from the beginning; where one or both were not covered, the month after the first detection. Of the changes before it, only those detected late are known.
--   observed_until_on: First day, UTC, of the month up to which joinings and leavings were requested: the month in which their common coverage ends; where one or both were not covered, the month of the last detection; null where nothing was detected either, and where requests had filters: only reading without them is observation.
--   transfers_in_ever: People whom an acquisition or the like brought; see is_transfer in joiners.
--   transfers_out_ever: People whom a transfer took along.
--   lag_days_p90: 90 of 100 joinings and leavings of the organisation were detected within this many calendar days; a lag of more than a year counts as a year; 0 where there are none.
--   cutoff_on: The data cutoff, first day of a month, UTC: 90 of 100 of the changes before it have been seen. The month in which the observed interval ends, less lag_days_p90; null where observed_until_on is null.
with

detected as (
    select
        organization_id,
        count(*) as events,
        count(case when not is_career_date(changed_at, least(detected_at, first_seen_at)) then 1 end) as undated_events,
        min(career_date(changed_at, least(detected_at, first_seen_at))) as first_event_at,
        max(career_date(changed_at, least(detected_at, first_seen_at))) as last_event_at,
        max(least(detected_at, first_seen_at)) as last_detected_at
    from job_change_events
    group by organization_id
),

-- Most organisations have only one such event, so the choice costs nothing.
newest as (
    select
        events.organization_id,
        events.event_key,
        events.organization_name,
        events.organization_slug,
        events.organization_network_url
    from job_change_events as events
    inner join detected
        on detected.organization_id = events.organization_id
        and detected.last_detected_at = least(events.detected_at, events.first_seen_at)
),

first_of_newest as (
    select organization_id, min(event_key) as event_key
    from newest
    group by organization_id
),

named as (
    select newest.organization_id, newest.organization_name, newest.organization_slug, newest.organization_network_url
    from newest
    inner join first_of_newest on first_of_newest.event_key = newest.event_key
),

present as (
    select
        organization_id,
        count(*) as people_ever,
        count(case when is_current and is_primary then 1 end) as people_now
    from person_organizations
    group by organization_id
),

duplicated as (
    select organization_id, count(*) as people_duplicated
    from duplicate_marks
    group by organization_id
),

joined as (
    select
        organization_id,
        count(case when not is_transfer then 1 end) as joiners,
        count(case when is_boomerang and not is_transfer then 1 end) as boomerangs,
        count(case when is_transfer then 1 end) as transfers_in
    from joiners
    where is_primary
    group by organization_id
),

gone as (
    select
        organization_id,
        count(case when not is_transfer then 1 end) as leavers,
        count(case when is_transfer then 1 end) as transfers_out
    from leavers
    where is_primary
    group by organization_id
),

promoted as (
    select
        organization_id,
        count(*) as promotions
    from promotions
    where is_primary
    group by organization_id
)

select
    observed.organization_id,
    named.organization_name as name,
    named.organization_slug as slug,
    named.organization_network_url as url,
    cast(coalesce(detected.events, 0) as integer) as events,
    cast(coalesce(detected.undated_events, 0) as integer) as undated_events,
    cast(coalesce(present.people_ever, 0) as integer) as people_ever,
    cast(coalesce(duplicated.people_duplicated, 0) as integer) as people_duplicated,
    cast(coalesce(present.people_now, 0) as integer) as people_now,
    cast(coalesce(joined.joiners, 0) as integer) as joiners_ever,
    cast(coalesce(gone.leavers, 0) as integer) as leavers_ever,
    cast(coalesce(promoted.promotions, 0) as integer) as promotions_ever,
    cast(coalesce(joined.boomerangs, 0) as integer) as boomerangs_ever,
    detected.first_event_at,
    detected.last_event_at,
    detected.last_detected_at,
    observed.observed_from_on,
    observed.observed_until_on,
    cast(coalesce(joined.transfers_in, 0) as integer) as transfers_in_ever,
    cast(coalesce(gone.transfers_out, 0) as integer) as transfers_out_ever,
    observed.lag_days_p90,
    observed.cutoff_on
from organization_observation as observed
left join detected on detected.organization_id = observed.organization_id
left join named on named.organization_id = observed.organization_id
left join present on present.organization_id = observed.organization_id
left join duplicated on duplicated.organization_id = observed.organization_id
left join joined on joined.organization_id = observed.organization_id
left join gone on gone.organization_id = observed.organization_id
left join promoted on promoted.organization_id = observed.organization_id
