-- Hands the parsed events to the merge, and creates an empty table for the next chunk.

drop table if exists jobtide_load.staged_sightings;
alter table jobtide_load.sightings rename to staged_sightings;
create table jobtide_load.sightings as from jobtide_load.staged_sightings limit 0;
