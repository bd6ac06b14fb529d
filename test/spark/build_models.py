"""Builds the models with Spark from what was published, and compares every table with the one that DuckDB published.

The models (sql/models) are written in the SQL that DuckDB and Spark 4 both run. This runs them, unchanged, on Spark with
ANSI semantics over the loaded and the computed models. Spark reads them through their Delta logs, so that rows which a later
night deleted are left out by Delta itself (deletion vectors). Each table that comes out must be the published one, row for
row: the same columns and types, the same keys, every value equal, floating-point numbers within 1e-9.

This is done twice: for the first publish, and for the newest, which must have deleted rows. `jobtide demo` publishes two
nights. It needs Python 3.9 or newer, Java 17 or 21 and PySpark 4, the network once for Delta's jars, 3 GB and some minutes,
and is no part of `npm test`:

    python3 -m venv spark-venv && spark-venv/bin/pip install pyspark==4.0.1
    npm run build && node dist/cli.js demo --data-dir scratch
    spark-venv/bin/python test/spark/build_models.py scratch/demo/snapshots

It prints one line for each table, and exits with 1 when one is different, a model does not run, or nothing was deleted. What
else Spark should be told, such as another master, goes into PYSPARK_SUBMIT_ARGS, for example
"--master local[1] --driver-memory 2g pyspark-shell".
"""

import json
import os
import re
import sys
import tempfile
import time
from graphlib import TopologicalSorter
from pathlib import Path

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

from pyspark.sql import Column, DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

SQL = Path(__file__).resolve().parents[2] / "sql"
TOLERANCE = 1e-9
EXAMPLES = 3
ERROR_LINES = 4
COVERAGE = "organization_coverage"
WATCHED = "ops.watch_entries"
DELTA = "io.delta:delta-spark_2.13:4.0.0"


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit("usage: build_models.py <the folder with the snapshot's latest.json>")
    folder = Path(sys.argv[1]).resolve()
    pointer = json.loads((folder / "latest.json").read_text(encoding="utf-8"))
    tables = json.loads((folder / pointer["manifest_key"]).read_text(encoding="utf-8"))["tables"]
    with tempfile.TemporaryDirectory(prefix="jobtide-spark-") as scratch:
        spark = start_spark(scratch)
        try:
            return build_both(spark, folder, tables, scratch)
        finally:
            spark.stop()


def build_both(spark: SparkSession, folder: Path, tables: list[dict], scratch: str) -> int:
    """Builds from the first version of each table, then from the newest, which the manifest describes."""
    keys = {table["name"]: table["key"] for table in tables}
    print("first publish:")
    first = {name: read(spark, folder, name, 0) for name in keys if has_version(folder, name, 0)}
    bad = build_all(spark, first, keys, f"{scratch}/first")

    print("newest publish:")
    newest = {name: read(spark, folder, name) for name in keys}
    deleted = {table["name"]: table["deleted"]["rows"] for table in tables if table["deleted"]}
    print(f"{sum(deleted.values())} rows of {len(deleted)} tables are deleted: {', '.join(deleted) or 'nothing is shown of them'}")
    for table in tables:
        count = newest[table["name"]].count()
        if count != table["rows"]:
            bad.append(table["name"])
            print(f"DIFFERENT  {table['name']}: Delta reads {count} rows, published {table['rows']}")
    bad += build_all(spark, newest, keys, f"{scratch}/newest")
    return 1 if bad or not deleted else 0


def start_spark(scratch: str) -> SparkSession:
    settings = {
        "spark.jars.packages": DELTA,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # What the models count on.
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        # A snapshot is small for Spark.
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.appName("jobtide models")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def build_all(spark: SparkSession, published: dict[str, DataFrame], keys: dict[str, list[str]], scratch: str) -> list[str]:
    """Builds all models from the published tables that are none; the names of those that came out differently."""
    models = in_run_order({path.stem: path for path in sorted((SQL / "models").glob("*/*.sql")) if path.parent.name != "computed"})
    # Snapshots leave coverage out, because it changes with every run, and watch-lists; what is made of them is taken as it is.
    for absent in {COVERAGE, WATCHED} - set(published):
        models = {name: path for name, path in models.items() if f"from {absent}" not in path.read_text(encoding="utf-8")}
    given = sorted(set(published) - set(models))
    for name in given:
        published[name].createOrReplaceTempView(name)
    for function in spark_functions():
        spark.sql(f"create or replace temporary function {function}")
    print(f"Spark {spark.version} builds {len(models)} models from {', '.join(given)}")

    bad, equal, rows, started = [], 0, 0, time.monotonic()
    for name, path in models.items():
        before = time.monotonic()
        try:
            table = build(spark, path, scratch)
            built_in = f"built in {time.monotonic() - before:.1f} s"
            found = differences(table, published[name], keys[name]) if name in published else None
        except Exception as error:  # Whatever it is: one run is to tell all that is wrong.
            found = str(error).strip().splitlines()[:ERROR_LINES]
            built_in = "does not run"
        if found is None:
            print(f"-          {name}: not published, {built_in}")
        elif found:
            bad.append(name)
            print("\n    ".join([f"DIFFERENT  {name}: {built_in}", *found]))
            if name in published:  # So that the models after it are judged by themselves.
                published[name].createOrReplaceTempView(name)
        else:
            count = published[name].count()
            rows += count
            equal += 1
            print(f"equal      {name}: {count} rows, {built_in}", flush=True)
    print(f"{equal} tables of {rows} rows are equal, different: {', '.join(bad) or 'none'}; {time.monotonic() - started:.0f} s")
    return bad


def has_version(folder: Path, table: str, version: int) -> bool:
    return (folder / "tables" / table / "_delta_log" / f"{version:020}.json").exists()


def read(spark: SparkSession, folder: Path, table: str, version: int | None = None) -> DataFrame:
    """The live rows of a table, as Delta reads them; of its newest version unless one is named."""
    reader = spark.read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    return reader.load(str(folder / "tables" / table))


def spark_functions() -> list[str]:
    """What stands in sql/macros.sql for Spark beside each macro for DuckDB."""
    text = (SQL / "macros.sql").read_text(encoding="utf-8")
    return re.findall(r"^-- spark: (.+)$", text, re.MULTILINE)


def in_run_order(models: dict[str, Path]) -> dict[str, Path]:
    """The models, each after those it reads."""
    reads = {}
    for name, path in models.items():
        sql = re.sub(r"--.*", "", path.read_text(encoding="utf-8"))
        tables = set(re.findall(r"\b(?:from|join)\s+(\w+)", sql))
        reads[name] = (tables & set(models)) - {name}
    return {name: models[name] for name in TopologicalSorter(reads).static_order()}


def build(spark: SparkSession, path: Path, scratch: str) -> DataFrame:
    """Runs a model as it stands in its file, under its name. Staging models are views, as in the warehouse."""
    table = spark.sql(path.read_text(encoding="utf-8"))
    if path.parent.name != "staging":
        table.write.parquet(f"{scratch}/{path.stem}")
        table = spark.read.parquet(f"{scratch}/{path.stem}")
    table.createOrReplaceTempView(path.stem)
    return table


def differences(built: DataFrame, published: DataFrame, key: list[str]) -> list[str]:
    """What is not the same, in words; nothing when both hold the same rows."""
    types, wanted = dict(built.dtypes), dict(published.dtypes)
    if list(types.items()) != list(wanted.items()):
        names = [name for name in {**types, **wanted} if types.get(name) != wanted.get(name)]
        return [f"{name}: {types.get(name)}, published {wanted.get(name)}" for name in names] or ["order of columns"]

    # Both sides of a key come together without a join; a key that is there twice on one side is wrong by itself.
    both = built.withColumn("_built", F.lit(True)).unionByName(published.withColumn("_built", F.lit(False)))
    others = [name for name in types if name not in key]
    sides = both.groupBy(key).agg(
        F.count_if("_built").alias("_times_built"),
        F.count_if(~F.col("_built")).alias("_times_published"),
        *[F.max(F.when(F.col("_built"), F.col(name))).alias(f"{name}_built") for name in others],
        *[F.max(F.when(~F.col("_built"), F.col(name))).alias(f"{name}_published") for name in others],
    )
    once = (F.col("_times_built") == 1) & (F.col("_times_published") == 1)
    times = F.format_string("%s rows built and %s published", "_times_built", "_times_published")
    wrong = F.concat_ws(
        ", ", F.when(~once, times), *[F.when(once & ~same(name, types[name]), F.lit(name)) for name in others]
    )
    rows = sides.withColumn("_wrong", wrong).where("_wrong <> ''").cache()
    found = []
    for what, count in rows.groupBy("_wrong").count().orderBy(F.desc("count")).take(EXAMPLES):
        found.append(f"{count} keys: {what}")
        shown = [column for name in what.split(", ") if name in others for column in (f"{name}_built", f"{name}_published")]
        for row in rows.where(F.col("_wrong") == what).orderBy(key).select(*key, *shown).take(EXAMPLES):
            found.append(f"    {row.asDict()}")
    rows.unpersist()
    return found


def same(name: str, type_name: str) -> Column:
    built, published = F.col(f"{name}_built"), F.col(f"{name}_published")
    equal = built.eqNullSafe(published)
    return equal | F.coalesce(F.abs(built - published) <= TOLERANCE, F.lit(False)) if type_name == "double" else equal


if __name__ == "__main__":
    sys.exit(main())
