-- The columns of the analysts' tables in their order, with their descriptions.
select table_name as "table", column_name as name, data_type as type, comment as description
from duckdb_columns()
where database_name = current_database() and schema_name in ('main', 'detail', 'service', 'core')
order by column_index
