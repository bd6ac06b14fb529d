"""The engines. Each is a function that takes a place and returns a reader: a function from a table's name to its rows and,
if the engine skips files by statistics, a function that counts the rows for a probe."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Callable

import pyarrow as pa
from place import Place

DELTA_FOR_SPARK = "io.delta:delta-spark_2.13:4.0.0"
# The release of Hadoop in Spark 4.0.1.
S3_FOR_SPARK = "org.apache.hadoop:hadoop-aws:3.4.1"

# A column, an operator (=, >=, <= or null) and a value.
Probe = tuple[str, str, object]
Counter = Callable[[Probe], int]
Reader = Callable[[str], tuple[pa.Table, Counter | None]]


def delta_rs(place: Place) -> Reader:
    from deltalake import DeltaTable, QueryBuilder

    def read(table: str) -> tuple[pa.Table, Counter]:
        delta = DeltaTable(place.table(table), storage_options=place.object_store_options())
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


def polars(place: Place) -> Reader:
    import polars as pl

    def read(table: str) -> tuple[pa.Table, Counter]:
        frame = pl.scan_delta(place.table(table), storage_options=place.object_store_options())
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


def clickhouse(place: Place) -> Reader:
    import chdb

    def read(table: str) -> tuple[pa.Table, None]:
        if place.endpoint is not None:
            url = f"{place.endpoint}/{place.bucket_and_prefix}/tables/{table}/"
            source = f"deltaLake('{url}', '{place.key_id}', '{place.secret}')"
        else:
            # It reads only below the current folder.
            os.chdir(Path(place.table(table)).parent)
            source = f"deltaLakeLocal('{place.table(table)}')"
        return chdb.query(f"select * from {source}", "ArrowTable"), None

    return read


def spark(place: Place) -> Reader:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    settings = {
        "spark.jars.packages": DELTA_FOR_SPARK,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.maxResultSize": "4g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if place.endpoint is not None:
        settings |= {
            "spark.jars.packages": f"{DELTA_FOR_SPARK},{S3_FOR_SPARK}",
            "spark.hadoop.fs.s3a.endpoint": place.endpoint,
            "spark.hadoop.fs.s3a.endpoint.region": place.region,
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.access.key": place.key_id,
            "spark.hadoop.fs.s3a.secret.key": place.secret,
        }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")

    def read(table: str) -> tuple[pa.Table, Counter]:
        frame = session.read.format("delta").load(place.table(table).replace("s3://", "s3a://"))

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


def duckdb_views(place: Place) -> Reader:
    """DuckDB reads views.sql instead of the Delta log."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    if place.endpoint is not None:
        load_httpfs(connection)
        connection.execute(
            f"""create secret (type s3, key_id '{place.key_id}', secret '{place.secret}', region '{place.region}',
            endpoint '{place.host}', url_style 'path', use_ssl {not place.is_plain_http})"""
        )
    connection.execute(place.text(f"snapshots/{place.manifest()['snapshot_id']}/views.sql"))

    def read(table: str) -> tuple[pa.Table, Counter]:
        kinds = {name: kind for name, kind, *_ in connection.execute(f'describe "{table}"').fetchall()}

        def count(probe: Probe) -> int:
            name, operator, value = probe
            condition = '"{}" is null' if operator == "null" else f'"{{}}" {operator} cast($1 as {kinds[name]})'
            values = [] if operator == "null" else [value]
            query = f'select count(*) from "{table}" where {condition.format(name)}'
            return connection.execute(query, values).fetchone()[0]

        return connection.sql(f'from "{table}"').to_arrow_table(), count

    return read


def load_httpfs(connection) -> None:
    """From the package duckdb-extension-httpfs if installed; otherwise DuckDB downloads it."""
    if find_spec("duckdb_extension_httpfs") is None:
        connection.execute("install httpfs; load httpfs")
        return
    folder = Path(find_spec("duckdb_extension_httpfs").origin).parent
    (extension,) = folder.glob("extensions/*/httpfs.duckdb_extension")
    connection.execute(f"load '{extension}'")


# By name: the required Python module, and the reader.
ENGINES = {
    "delta-rs": ("deltalake", delta_rs),
    "polars": ("polars", polars),
    "clickhouse": ("chdb", clickhouse),
    "duckdb": ("duckdb", duckdb_views),
    "spark": ("pyspark", spark),
}
