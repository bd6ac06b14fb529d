create table ops.as_known_on (
    nth integer not null,
    sql varchar not null
);
comment on table ops.as_known_on is 'The statements that make the …_as_known_on macros in the session of a reader, to be run in their order: for another major version of DuckDB than the one that stored them. Key: nth.';
comment on column ops.as_known_on.nth is '1 for the first statement, then 2, 3, …';
comment on column ops.as_known_on.sql is 'The statement.';
