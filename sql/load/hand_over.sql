-- Hands the parsed events over to the merge, and makes room for the next ones.

drop table if exists jobtide_load.staged_sightings;
alter table jobtide_load.sightings rename to staged_sightings;
create table jobtide_load.sightings as from jobtide_load.staged_sightings limit 0;
