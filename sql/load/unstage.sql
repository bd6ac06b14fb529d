-- Gives the memory of one batch back.

drop table if exists staged_sightings;
drop table if exists staged_runs;
drop table if exists staged_batches;
drop table if exists staged_pages;
drop table if exists staged_coverage;
drop table if exists staged_quarantined;
drop table if exists staged_unknown_fields;
drop table if exists staged_asked;
drop table if exists staged_ids;
drop table if exists staged_snapshots;
drop table if exists staged_events;
drop table if exists staged_versions;
drop table if exists timed_sightings;
drop table if exists known_events;
drop table if exists touched_organizations;
drop table if exists joined_coverage;
