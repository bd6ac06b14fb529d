-- Whom the next build has to look at: everybody with an event that is new, that says something else than before or that
-- is now known to have been received earlier, or with a version of an event that was not known. Runs before versions and
-- events are merged.

insert into ops.changed_people
select profile_id
from staged_events
where is_new or is_changed or is_seen_earlier
union
select staged.profile_id
from staged_versions as staged
anti join job_change_event_versions as known
    on known.event_key = staged.event_key and known.version_key = staged.version_key;
