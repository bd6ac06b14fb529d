-- The versions of the corrected events of this batch take the place of those kept.

delete from job_change_event_versions as version
using (select distinct event_key from staged_versions) as staged
where version.event_key = staged.event_key;

insert into job_change_event_versions by name
select * from staged_versions
order by event_key, version_key;
