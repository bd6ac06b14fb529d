-- Date arithmetic where engines differ. The models call these names; DuckDB gets them here, as temporary macros of the
-- building connection, and another engine defines functions of the same names (Spark: datediff(b, a) on dates in UTC).

-- Calendar days in UTC from `a` to `b`; negative when `b` is earlier.
create or replace temp macro days_between(a, b) as
    cast(date_diff('day', cast(a at time zone 'UTC' as date), cast(b at time zone 'UTC' as date)) as integer);

-- The Monday, in UTC, of the ISO week that holds `ts`.
create or replace temp macro week_start(ts) as
    cast(date_trunc('week', ts at time zone 'UTC') as date);
