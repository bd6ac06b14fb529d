"""The engines. Each is a function that takes a place and returns a reader: a function from a table's name to its rows."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Callable

import pyarrow as pa
from place import Place

DELTA_FOR_SPARK = "io.delta:delta-spark_2.13:4.0.0"
# The release of Hadoop in Spark 4.0.1.
S3_FOR_SPARK = "org.apache.hadoop:hadoop-aws:3.4.1"

Reader = Callable[[str], pa.Table]


def delta_rs(place: Place) -> Reader:
    from deltalake import DeltaTable, QueryBuilder

    def read(table: str) -> pa.Table:
        delta = DeltaTable(place.table(table), storage_options=place.object_store_options())
        query = QueryBuilder().register("t", delta)
        return pa.table(query.execute("select * from t").read_all())

    return read


def polars(place: Place) -> Reader:
    import polars as pl

    def read(table: str) -> pa.Table:
        return pl.scan_delta(place.table(table), storage_options=place.object_store_options()).collect().to_arrow()

    return read


def clickhouse(place: Place) -> Reader:
    import chdb

    def read(table: str) -> pa.Table:
        if place.endpoint is not None:
            url = f"{place.endpoint}/{place.bucket_and_prefix}/tables/{table}/"
            source = f"deltaLake('{url}', '{place.key_id}', '{place.secret}')"
        else:
            # It reads only below the current folder.
            os.chdir(Path(place.table(table)).parent)
            source = f"deltaLakeLocal('{place.table(table)}')"
        return chdb.query(f"select * from {source}", "ArrowTable")

    return read


def spark_session(place: Place):
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

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
    return session


def spark(place: Place) -> Reader:
    session = spark_session(place)

    def read(table: str) -> pa.Table:
        return session.read.format("delta").load(place.table(table).replace("s3://", "s3a://")).toArrow()

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

    def read(table: str) -> pa.Table:
        return connection.sql(f'from "{table}"').to_arrow_table()

    return read


def pandas_files(place: Place) -> Reader:
    import pandas as pd

    return lambda table: pa.Table.from_pandas(pd.read_parquet(place.current(table)), preserve_index=False)


def pyarrow_files(place: Place) -> Reader:
    import pyarrow.dataset as ds

    return lambda table: ds.dataset(place.current(table), format="parquet").to_table()


def polars_files(place: Place) -> Reader:
    import polars as pl

    return lambda table: pl.scan_parquet(f"{place.current(table)}/*.parquet").collect().to_arrow()


def duckdb_files(place: Place) -> Reader:
    import duckdb

    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    return lambda table: connection.sql(f"from read_parquet('{place.current(table)}/*.parquet')").to_arrow_table()


def spark_files(place: Place) -> Reader:
    session = spark_session(place)
    return lambda table: session.read.parquet(place.current(table)).toArrow()


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

# The same for engines that read the plain files of current/, in a folder only.
ENGINES_OF_FILES = {
    "pandas-files": ("pandas", pandas_files),
    "pyarrow-files": ("pyarrow", pyarrow_files),
    "polars-files": ("polars", polars_files),
    "duckdb-files": ("duckdb", duckdb_files),
    "spark-files": ("pyspark", spark_files),
}
