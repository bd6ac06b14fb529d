-- What the pipelines watch. A run writes the lists of its pipeline before it builds; they are in no snapshot.

create table ops.watch_entries (
    pipeline varchar not null,
    watch_list varchar not null,
    entry integer not null,
    kind varchar not null,
    listed_as varchar not null,
    changes varchar,
    levels varchar,
    functions varchar
);
comment on table ops.watch_entries is 'One row per entry of a watch-list and way in which it names a person or an organisation, as the last run of the pipeline read it. Key: pipeline, watch_list, entry, kind.';
comment on column ops.watch_entries.pipeline is 'The pipeline whose file names the list.';
comment on column ops.watch_entries.watch_list is 'Name of the list.';
comment on column ops.watch_entries.entry is 'Place of the entry in the list, from 1.';
comment on column ops.watch_entries.kind is 'What it is named by: profile_id, url, handle or name of a person, organization_id or company_url of an organisation.';
comment on column ops.watch_entries.listed_as is 'What the list says there; of a company_url its slug.';
comment on column ops.watch_entries.changes is 'Which changes of career_changes count, each between commas; null for all.';
comment on column ops.watch_entries.levels is 'Which levels count, before or after the change, each between commas; null for all.';
comment on column ops.watch_entries.functions is 'Which fields of work count, before or after the change, each between commas; null for all.';
