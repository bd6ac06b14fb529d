"""Runs the checks over the built models."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .build import Build
from .lake import reason

SAMPLE_ROWS = 5
# One query counts this many checks: most find nothing soon, and starting a query takes longer.
IN_ONE_QUERY = 12


def run_checks(build: Build, checks: list[dict]) -> list[dict]:
    """How many rows break each rule, with a few of them."""
    parts = [checks[at : at + IN_ONE_QUERY] for at in range(0, len(checks), IN_ONE_QUERY)]
    with ThreadPoolExecutor(build.at_once) as pool:
        return [outcome for part in pool.map(lambda some: _run(build, some), parts) for outcome in part]


def _run(build: Build, checks: list[dict]) -> list[dict]:
    try:
        found = {check["name"]: build.sql(check["sql"], check["reads"]) for check in checks}
        counts = _counts(found)
        samples = {name: found[name].limit(SAMPLE_ROWS).toJSON().collect() for name in counts}
    except Exception as error:
        names = ", ".join(check["name"] for check in checks)
        raise RuntimeError(f"one of the checks {names}: {reason(error)}") from error
    return [
        {"name": name, "offenders": counts.get(name, 0), "sample": [json.loads(row) for row in samples.get(name, [])]}
        for name in found
    ]


def _counts(found: dict[str, DataFrame]) -> dict[str, int]:
    """The number of rows by name, without zeros."""
    named = [rows.select(F.lit(name).alias("name")) for name, rows in found.items()]
    together = reduce(lambda all_rows, rows: all_rows.unionAll(rows), named)
    return {row["name"]: row["count"] for row in together.groupBy("name").count().collect()}
