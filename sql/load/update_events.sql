-- Updates events that were known. Newer sightings replace attributes; older ones only count.

merge into job_change_events as known
using (select * from repeated_events where not is_new) as staged
on known.event_key = staged.event_key
when matched and staged.is_newer then update set
    detected_at = staged.detected_at,
    detection_lag_days = staged.detection_lag_days,
    title_current = staged.title_current,
    title_previous = staged.title_previous,
    person_handle = staged.person_handle,
    person_full_name = staged.person_full_name,
    person_first_name = staged.person_first_name,
    person_last_name = staged.person_last_name,
    person_headline = staged.person_headline,
    person_network_url = staged.person_network_url,
    organization_name = staged.organization_name,
    organization_slug = staged.organization_slug,
    organization_network_url = staged.organization_network_url,
    attributes_seen_at = staged.received_at,
    first_run_id = case
        when row(staged.first_seen_at, staged.first_run_id) < row(known.first_seen_at, known.first_run_id)
            then staged.first_run_id
        else known.first_run_id
    end,
    first_seen_at = least(known.first_seen_at, staged.first_seen_at),
    last_run_id = case
        when row(staged.last_seen_at, staged.last_run_id) > row(known.last_seen_at, known.last_run_id)
            then staged.last_run_id
        else known.last_run_id
    end,
    last_seen_at = greatest(known.last_seen_at, staged.last_seen_at),
    times_seen = known.times_seen + staged.times_seen
when matched then update set
    first_run_id = case
        when row(staged.first_seen_at, staged.first_run_id) < row(known.first_seen_at, known.first_run_id)
            then staged.first_run_id
        else known.first_run_id
    end,
    first_seen_at = least(known.first_seen_at, staged.first_seen_at),
    last_run_id = case
        when row(staged.last_seen_at, staged.last_run_id) > row(known.last_seen_at, known.last_run_id)
            then staged.last_run_id
        else known.last_run_id
    end,
    last_seen_at = greatest(known.last_seen_at, staged.last_seen_at),
    times_seen = known.times_seen + staged.times_seen;
