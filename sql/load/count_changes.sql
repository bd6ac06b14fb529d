-- What the merge is about to do: events that are new, and known events whose attributes a newer sighting changes.

select
    cast(count(*) filter (where known.event_key is null) as integer) as inserted,
    cast(count(*) filter (
        where known.event_key is not null
            and row(staged.detected_at, staged.received_at) >= row(known.detected_at, known.attributes_seen_at)
            and row(staged.detected_at, staged.attributes) <> row(
                known.detected_at,
                attributes_text(known.detection_lag_days, known.title_previous, known.person_handle,
                    known.person_full_name, known.person_first_name, known.person_last_name, known.person_headline,
                    known.person_network_url, known.organization_name, known.organization_slug,
                    known.organization_network_url, known.title_current)
            )
    ) as integer) as updated
from staged_events as staged
left join job_change_events as known on known.event_key = staged.event_key;
