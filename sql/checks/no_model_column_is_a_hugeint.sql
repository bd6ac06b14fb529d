with

made as (
    select table_oid as oid
    from duckdb_tables()
    where database_name = current_database() and schema_name in ('main', 'detail', 'service', 'core') and comment like '% Model: %'
    union all
    select view_oid as oid
    from duckdb_views()
    where database_name = current_database() and schema_name in ('main', 'detail', 'service', 'core') and comment like '% Model: %'
)

select columns.table_name, columns.column_name, columns.data_type
from duckdb_columns() as columns
inner join made on made.oid = columns.table_oid
where
    columns.database_name = current_database()
    and columns.data_type in ('HUGEINT', 'UHUGEINT')
