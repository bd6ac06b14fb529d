"""Reads every table of a published folder with engines that we did not write, through its Delta log.

Each table that comes out must be the one that the manifest names, row for row: the rows of its data files without its deleted
rows, which pyarrow reads here without the log. Engines that pass files over by the log's statistics are asked besides how many
rows have a value, have at least it, or have none, for values at the edges, where a bound that is too narrow loses rows.

    python read_with.py FOLDER [ENGINE …] [--questions N]

Engines: delta-rs, polars, clickhouse, spark; default: those that are installed. N: at most so many questions about each table
(Spark takes seconds for one); default: all. It prints one line for each engine and table, and exits with 1 when one is different. README.md beside it says what to install.
"""

import argparse
import importlib.util
import json
import os
import sys
import time
from pathlib import Path
from typing import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ENGINES = {"delta-rs": "deltalake", "polars": "polars", "clickhouse": "chdb", "spark": "pyspark"}
DELTA_FOR_SPARK = "io.delta:delta-spark_2.13:4.0.0"
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
# Those without bounds in the log cannot be passed over.
PROBED = (pa.types.is_string, pa.types.is_integer, pa.types.is_date, pa.types.is_timestamp, pa.types.is_decimal)

Probe = tuple[str, str, object]
Counter = Callable[[Probe], int]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", type=Path, help="the folder with the snapshot's latest.json")
    arguments.add_argument("engines", nargs="*", metavar="engine", help=" ".join(ENGINES))
    arguments.add_argument("--questions", type=int, help="at most so many about each table")
    given = arguments.parse_args()
    folder = given.folder.resolve()
    pointer = json.loads((folder / "latest.json").read_text())
    manifest = json.loads((folder / pointer["manifest_key"]).read_text())
    named = given.engines or [name for name, module in ENGINES.items() if importlib.util.find_spec(module)]
    engines = [(name, READERS[name]()) for name in named]
    different = 0
    for table in manifest["tables"]:
        expected = rows_of(folder, table)
        for name, read in engines:
            started = time.monotonic()
            path = str(folder / "tables" / table["name"])
            problem = difference(read, path, table, expected, given.questions)
            seconds = time.monotonic() - started
            verdict = "equal" if problem is None else f"DIFFERENT: {problem}"
            print(f"{name:<10} {table['name']:<28} {expected.num_rows:>9,} rows {seconds:>6.1f} s  {verdict}", flush=True)
            different += problem is not None
    return 1 if different else 0


def rows_of(folder: Path, table: dict) -> pa.Table:
    """The rows that count, sorted by key, in the types of the manifest; the Delta log is not looked at."""
    deleted: dict[str, pa.Array] = {}
    if table["deleted"] is not None:
        gone = pq.read_table(folder / table["deleted"]["key"], partitioning=None)
        for sha256 in pc.unique(gone["file"]).to_pylist():
            deleted[sha256] = gone.filter(pc.equal(gone["file"], sha256))["position"].combine_chunks()
    parts = []
    for file in table["files"]:
        part = pq.read_table(folder / file["key"], partitioning=None)
        if file["sha256"] in deleted:
            position = pa.array(range(part.num_rows), pa.int64())
            part = part.filter(pc.invert(pc.is_in(position, value_set=deleted[file["sha256"]])))
        parts.append(typed(part, table))
    return sorted_by_key(pa.concat_tables(parts), table)


def typed(rows: pa.Table, table: dict) -> pa.Table:
    """The columns of the manifest, in its order and types; one that is younger than the rows is null."""
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


def difference(read: Callable, path: str, table: dict, expected: pa.Table, questions: int | None) -> str | None:
    """What an engine shows else than it should; None for nothing."""
    try:
        rows, count = read(path)
        found = sorted_by_key(typed(rows, table), table)
        if sorted(rows.column_names) != sorted(expected.column_names):
            return f"columns {rows.column_names}"
        if found.num_rows != expected.num_rows:
            return f"{found.num_rows:,} rows"
        for name in expected.column_names:
            if not found[name].combine_chunks().equals(expected[name].combine_chunks()):
                return f"column {name}"
        for probe in some(probes(expected), questions) if count is not None else []:
            wanted, got = expected_count(expected, probe), count(probe)
            if wanted != got:
                return f"{got} rows with {probe[0]} {probe[1]} {probe[2]!r} where there are {wanted}"
    except Exception as error:  # Whatever an engine throws is its answer.
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:300]}"
    return None


def probes(expected: pa.Table) -> list[Probe]:
    asked: list[Probe] = []
    for name in expected.column_names:
        column = expected[name]
        if not any(is_kind(column.type) for is_kind in PROBED):
            continue
        asked.append((name, "null", None))
        edges = pc.min_max(column)
        for value in {edges["min"].as_py(), edges["max"].as_py()} - {None}:
            asked.append((name, "=", value))
        if edges["max"].as_py() is not None:
            asked.append((name, ">=", edges["max"].as_py()))
            asked.append((name, "<=", edges["min"].as_py()))
    return asked


def some(asked: list[Probe], most: int | None) -> list[Probe]:
    """At most so many of them, from all over the list."""
    return asked if most is None or len(asked) <= most else asked[:: -(-len(asked) // max(most, 1))]


def expected_count(expected: pa.Table, probe: Probe) -> int:
    name, operator, value = probe
    column = expected[name]
    if operator == "null":
        return column.null_count
    compare = {"=": pc.equal, ">=": pc.greater_equal, "<=": pc.less_equal}[operator]
    return pc.sum(compare(column, pa.scalar(value, column.type))).as_py() or 0


def delta_rs() -> Callable:
    from deltalake import DeltaTable, QueryBuilder

    def read(path: str) -> tuple[pa.Table, Counter]:
        delta = DeltaTable(path)
        query = QueryBuilder().register("t", delta)
        schema = pa.schema(delta.schema().to_arrow())

        def count(probe: Probe) -> int:
            name, operator, value = probe
            condition = f'"{name}" is null'
            if operator != "null":
                text = pa.array([value], schema.field(name).type).cast(pa.string())[0].as_py().replace("'", "''")
                condition = f"\"{name}\" {operator} arrow_cast('{text}', {datafusion_type(schema.field(name).type)})"
            return pa.table(query.execute(f"select count(*) as n from t where {condition}").read_all())["n"][0].as_py()

        return pa.table(query.execute("select * from t").read_all()), count

    return read


def datafusion_type(kind: pa.DataType) -> str:
    if pa.types.is_timestamp(kind):
        zone = "None" if kind.tz is None else f'Some("{kind.tz}")'
        return f"'Timestamp(Microsecond, {zone})'"
    if pa.types.is_decimal(kind):
        return f"'Decimal128({kind.precision}, {kind.scale})'"
    names = {pa.int64(): "Int64", pa.int32(): "Int32", pa.int16(): "Int16", pa.int8(): "Int8", pa.date32(): "Date32"}
    return f"'{names.get(kind, 'Utf8')}'"


def polars() -> Callable:
    import polars as pl

    def read(path: str) -> tuple[pa.Table, Counter]:
        frame = pl.scan_delta(path)
        kinds = frame.collect_schema()

        def count(probe: Probe) -> int:
            name, operator, value = probe
            column = pl.col(name)
            literal = pl.lit(value).cast(kinds[name])
            condition = {
                "null": lambda: column.is_null(),
                "=": lambda: column == literal,
                ">=": lambda: column >= literal,
                "<=": lambda: column <= literal,
            }[operator]()
            return frame.filter(condition).select(pl.len()).collect().item()

        return frame.collect().to_arrow(), count

    return read


def clickhouse() -> Callable:
    import chdb

    def read(path: str) -> tuple[pa.Table, None]:
        # It reads only below the folder that it was started in.
        os.chdir(Path(path).parent)
        return chdb.query(f"select * from deltaLakeLocal('{path}')", "ArrowTable"), None

    return read


def spark() -> Callable:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars.packages", DELTA_FOR_SPARK)
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.databricks.delta.snapshotPartitions", "1")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.driver.maxResultSize", "4g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")

    def read(path: str) -> tuple[pa.Table, Counter]:
        frame = session.read.format("delta").load(path)

        def count(probe: Probe) -> int:
            name, operator, value = probe
            column = F.col(name)
            if operator == "null":
                return frame.filter(column.isNull()).count()
            literal = F.lit(value).cast(frame.schema[name].dataType)
            condition = {"=": column == literal, ">=": column >= literal, "<=": column <= literal}[operator]
            return frame.filter(condition).count()

        return frame.toArrow(), count

    return read


READERS = {"delta-rs": delta_rs, "polars": polars, "clickhouse": clickhouse, "spark": spark}

if __name__ == "__main__":
    sys.exit(main())
