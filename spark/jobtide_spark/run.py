"""One job: reads a `job.json` of Jobtide, and writes files and one result."""

from __future__ import annotations

import json
import time

from .build import Build
from .checks import run_checks
from .lake import Lake
from .session import open_session

FORMAT = 2
# The number of parallel Spark jobs: most are too small to keep a cluster busy.
AT_ONCE = 4


def run(address: str) -> None:
    """Reads the job at `address`, …/work/<snapshot id>/job.json, builds and checks, and writes the result next to it."""
    root, work = split_address(address)
    spark = open_session()
    job = json.loads(spark.read.text(address, wholetext=True).first()[0])
    if job["format"] != FORMAT:
        raise ValueError(f"the job is of format {job['format']}, and this package reads {FORMAT}")
    lake = Lake(spark, root, work)
    at_once = int(spark.conf.get("spark.jobtide.atOnce", str(AT_ONCE)))
    build = Build(lake, job, at_once)
    seconds, outcomes = {}, []
    steps = {
        "build": build.run,
        "checks": lambda: outcomes.extend(run_checks(build, job["checks"])),
        "hash": build.published.add_hashes,
    }
    for name, step in steps.items():
        started = time.monotonic()
        step()
        seconds[name] = round(time.monotonic() - started, 1)
    result = {
        "format": FORMAT,
        "snapshot_id": job["snapshot_id"],
        "spark": spark.version,
        "seconds": seconds,
        "checks": outcomes,
        "tables": [{"name": name, "partitions": found} for name, found in build.published.partitions.items()],
    }
    # Written last: without it the job does not count.
    text = spark.createDataFrame([(json.dumps(result),)], "value string")
    text.coalesce(1).write.text(lake.path(f"{work}result"))


def split_address(address: str) -> tuple[str, str]:
    """The address of the destination, and the key of the job's own folder in it."""
    root, found, rest = address.rpartition("/work/")
    snapshot_id, _, name = rest.partition("/")
    if not found or name != "job.json":
        raise ValueError(f"{address} does not end with /work/<snapshot id>/job.json")
    return root, f"work/{snapshot_id}/"
