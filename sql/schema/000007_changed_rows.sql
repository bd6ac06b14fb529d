-- What builds changed, for the publisher: it need not read a table to find out.

create table ops.builds (
    build integer not null,
    build_id varchar not null,
    duckdb varchar not null
);
comment on table ops.builds is 'One row per build since the last full refresh, that one included; at most 8. Key: build.';
comment on column ops.builds.build is 'Its number, from 1, without gaps.';
comment on column ops.builds.build_id is 'The build, as ops.checks names it.';
comment on column ops.builds.duckdb is 'The version of DuckDB that computed the hashes.';

create table ops.changed_rows (
    build integer not null,
    table_name varchar not null,
    year integer,
    key_hash ubigint,
    row_hash ubigint,
    change tinyint not null
);
comment on table ops.changed_rows is 'One row per row of a published table that a build, or a load before it, wrote or deleted; a row that changed is both.';
comment on column ops.changed_rows.build is 'The build; one more than the last in ops.builds for a load that is not built yet.';
comment on column ops.changed_rows.table_name is 'The table.';
comment on column ops.changed_rows.year is 'The calendar year (UTC) by which snapshots split the table, where they do.';
comment on column ops.changed_rows.key_hash is 'Hash of the key of the row; null: any row of the table may be another.';
comment on column ops.changed_rows.row_hash is 'Hash of all columns of the row that are published.';
comment on column ops.changed_rows.change is '1 for a row that came, -1 for one that went, 0 where any may be another.';
