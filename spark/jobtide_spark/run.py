"""One job: what Jobtide asks for in a `job.json`, answered by files and one result."""

from __future__ import annotations

import json
import time

from pyspark.sql import functions as F

from .build import Build
from .checks import run_checks
from .lake import Lake
from .session import open_session
from .stored import key_of

FORMAT = 1
# Spark jobs that are run side by side: most are too small to keep a cluster busy.
AT_ONCE = 4


def run(address: str) -> None:
    """Reads the job at `address`, …/work/<snapshot id>/job.json, builds and checks, and writes the result beside it."""
    root, work = split_address(address)
    spark = open_session()
    job = json.loads(spark.read.text(address, wholetext=True).first()[0])
    if job["format"] != FORMAT:
        raise ValueError(f"the job is of format {job['format']}, and this package reads {FORMAT}")
    lake = Lake(spark, root, work)
    at_once = int(spark.conf.get("spark.jobtide.atOnce", str(AT_ONCE)))
    build = Build(lake, job, at_once)
    seconds = {}
    started = time.monotonic()
    build.run()
    seconds["build"] = round(time.monotonic() - started, 1)
    started = time.monotonic()
    outcomes = run_checks(build, job["checks"])
    seconds["checks"] = round(time.monotonic() - started, 1)
    started = time.monotonic()
    tables = hashed(lake, build.stored.results)
    seconds["hash"] = round(time.monotonic() - started, 1)
    result = {
        "format": FORMAT,
        "snapshot_id": job["snapshot_id"],
        "spark": spark.version,
        "seconds": seconds,
        "checks": outcomes,
        "tables": [{"name": name, "result": table} for name, table in sorted(tables.items())],
    }
    # The last act: without it nothing of the job counts.
    text = spark.createDataFrame([(json.dumps(result),)], "value string")
    text.coalesce(1).write.text(lake.path(f"{work}result"))


def split_address(address: str) -> tuple[str, str]:
    """The address of the destination, and the key of the job's own folder in it."""
    root, found, rest = address.rpartition("/work/")
    snapshot_id, _, name = rest.partition("/")
    if not found or name != "job.json":
        raise ValueError(f"{address} does not end with /work/<snapshot id>/job.json")
    return root, f"work/{snapshot_id}/"


def hashed(lake: Lake, tables: dict[str, dict | None]) -> dict[str, dict | None]:
    """Adds size and SHA-256 to each new file, read back from where they are."""
    new = [file for table in tables.values() if table is not None for file in new_files(table)]
    if not new:
        return tables
    paths = [lake.path(file["key"]) for file in new]
    read = lake.spark.read.format("binaryFile").load(paths)
    found = read.select("path", "length", F.sha2("content", 256).alias("sha256")).collect()
    # By key: the files of one task have one name in the folder of each year.
    known = {key_of(row["path"], lake.work): row for row in found}
    for file in new:
        row = known[file["key"]]
        file["bytes"], file["sha256"] = row["length"], row["sha256"]
    return tables


def new_files(table: dict) -> list[dict]:
    vector = table["vector"]
    files = [file for file in table["files"] if "sha256" not in file]
    return files + ([vector] if vector is not None and vector["is_new"] else [])
