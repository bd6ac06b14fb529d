-- Releases the memory of one chunk.

drop table if exists staged_batches;
drop table if exists staged_pages;
drop table if exists staged_unknown_fields;
drop table if exists staged_snapshots;
drop table if exists staged_answers;
drop view if exists single_sightings;
drop table if exists staged_sightings;
drop table if exists page_events;
drop table if exists known_rows;
drop table if exists repeated_keys;
drop table if exists repeated_sightings;
drop table if exists repeated_events;
drop table if exists repeated_versions;
drop table if exists known_events;
drop table if exists counted_events;
