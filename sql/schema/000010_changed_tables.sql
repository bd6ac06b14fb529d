-- Which tables builds changed, for the publisher: a table that no build changed keeps its files. Takes the place of ops.changed_rows.

drop table ops.changed_rows;
drop table ops.builds;

create table ops.builds (
    build integer not null,
    build_id varchar not null
);
comment on table ops.builds is 'One row per build since the last full refresh, that one included; at most 100. Key: build.';
comment on column ops.builds.build is 'Its number, from 1, without gaps.';
comment on column ops.builds.build_id is 'The build, as ops.checks names it.';

create table ops.changed_tables (
    build integer not null,
    table_name varchar not null,
    years integer[]
);
comment on table ops.changed_tables is 'One row per build and table whose rows it, or a load before it, may have changed; a load writes several. A table that is not named kept its rows.';
comment on column ops.changed_tables.build is 'The build; one more than the last in ops.builds for a load that is not built yet.';
comment on column ops.changed_tables.table_name is 'The table.';
comment on column ops.changed_tables.years is 'The calendar years (UTC) of the column by which snapshots split the table, of the rows that were deleted or inserted, null for rows without one; null: rows of any year.';
