select columns.table_name, columns.column_name, columns.data_type
from duckdb_columns() as columns
inner join duckdb_tables() as tables on tables.table_oid = columns.table_oid
where
    tables.database_name = current_database()
    and columns.database_name = current_database()
    and tables.schema_name = 'main'
    and tables.comment like '% Model: %'
    and columns.data_type in ('HUGEINT', 'UHUGEINT')
