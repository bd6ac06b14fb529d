"""Reads every table of a published snapshot with engines that we did not write.

Each table must hold exactly the rows that the manifest names: those of its data files, which pyarrow reads here without the
log, and with --warehouse those of the warehouse that was published.

    python read_with.py FOLDER [ENGINE …]
    python read_with.py s3://BUCKET/PREFIX --endpoint http://HOST:PORT [ENGINE …]

Engines: delta-rs, polars, clickhouse and spark, through the Delta log; duckdb, through views.sql; pandas-files,
pyarrow-files, polars-files, duckdb-files and spark-files, through current/ of a folder. Default: those that are installed. S3 takes AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION. The script prints a line for each engine and
table, and exits with 1 if one differs. The README.md in this folder says what to install.
"""

import argparse
import os
import sys
import time
from importlib.util import find_spec

import pyarrow as pa
import pyarrow.parquet as pq

sys.dont_write_bytecode = True  # Leaves no cache next to the sources.
from engines import ENGINES, ENGINES_OF_FILES, Reader  # noqa: E402
from place import Place  # noqa: E402

TYPES = {
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "SMALLINT": pa.int16(),
    "TINYINT": pa.int8(),
    "BOOLEAN": pa.bool_(),
    "DOUBLE": pa.float64(),
    "FLOAT": pa.float32(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC"),
}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("address", help="where latest.json is: a folder or s3://bucket/prefix")
    arguments.add_argument("engines", nargs="*", metavar="engine", help=" ".join(ENGINES | ENGINES_OF_FILES))
    arguments.add_argument("--endpoint", help="the S3 server: http(s)://host[:port]")
    arguments.add_argument("--warehouse", type=os.path.abspath, help="the DuckDB file that was published: its rows are expected")
    given = arguments.parse_intermixed_args()
    if given.address.startswith("s3://") != (given.endpoint is not None):
        arguments.error("an address on s3:// needs --endpoint; a folder takes none")
    place = Place(given.address, given.endpoint)
    engines = ENGINES | (ENGINES_OF_FILES if given.endpoint is None else {})
    named = given.engines or [name for name, (module, _) in engines.items() if find_spec(module)]
    readers = [(name, engines[name][1](place)) for name in named]
    different = 0
    for table in place.manifest()["tables"]:
        expected = rows_of_files(place, table)
        if given.warehouse is not None:
            wanted = rows_of_warehouse(given.warehouse, table)
            problem = first_difference(expected, wanted)
            different += report("warehouse", table, wanted, problem)
            expected = wanted
        for name, read in readers:
            started = time.monotonic()
            problem = problem_of(read, table, expected)
            different += report(name, table, expected, problem, time.monotonic() - started)
    return 1 if different else 0


def report(name: str, table: dict, expected: pa.Table, problem: str | None, seconds: float = 0) -> bool:
    """Prints a line. Returns whether there was a problem."""
    verdict = "equal" if problem is None else f"DIFFERENT: {problem}"
    print(f"{name:<13} {table['name']:<28} {expected.num_rows:>9,} rows {seconds:>6.1f} s  {verdict}", flush=True)
    return problem is not None


def rows_of_files(place: Place, table: dict) -> pa.Table:
    """All rows of the data files, sorted by key, in the types of the manifest; the Delta log plays no part."""
    parts = [typed(pq.read_table(place.open(file["key"])), table) for file in table["files"]]
    return sorted_by_key(pa.concat_tables(parts), table)


def rows_of_warehouse(path: str, table: dict) -> pa.Table:
    import duckdb

    with duckdb.connect(path, read_only=True) as warehouse:
        warehouse.execute("set timezone = 'UTC'; set search_path = 'main,detail,service'")
        rows = warehouse.sql(f'from "{table["name"]}"').to_arrow_table()
    return sorted_by_key(typed(rows, table), table)


def typed(rows: pa.Table, table: dict) -> pa.Table:
    """The columns of the manifest, in its order and types; a column added after the rows were written is null."""
    names, columns = [], []
    for column in table["schema"]:
        name, kind = column["name"], arrow_type(column["type"])
        names.append(name)
        columns.append(rows[name].cast(kind) if name in rows.column_names else pa.nulls(rows.num_rows, kind))
    return pa.table(columns, names=names)


def arrow_type(name: str) -> pa.DataType:
    if name.endswith("[]"):
        return pa.list_(arrow_type(name[:-2]))
    if name.startswith("DECIMAL"):
        precision, scale = name[len("DECIMAL(") : -1].split(",")
        return pa.decimal128(int(precision), int(scale))
    return TYPES[name]


def sorted_by_key(rows: pa.Table, table: dict) -> pa.Table:
    return rows.sort_by([(name, "ascending") for name in table["key"]]).combine_chunks()


def problem_of(read: Reader, table: dict, expected: pa.Table) -> str | None:
    """How an engine's answer differs from the expected rows; None if it does not."""
    try:
        rows = read(table["name"])
        if sorted(rows.column_names) != sorted(expected.column_names):
            return f"columns {rows.column_names}"
        return first_difference(sorted_by_key(typed(rows, table), table), expected)
    except Exception as error:  # An engine that throws has failed the comparison.
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:300]}"


def first_difference(found: pa.Table, expected: pa.Table) -> str | None:
    if found.num_rows != expected.num_rows:
        return f"{found.num_rows:,} rows, expected {expected.num_rows:,}"
    for name in expected.column_names:
        if not found[name].combine_chunks().equals(expected[name].combine_chunks()):
            return f"column {name}"
    return None


if __name__ == "__main__":
    sys.exit(main())
