"""Runs the checks over what was built; after an incremental build only over what that can have broken."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .build import Build
from .tables import PERSON, Table, changed_keys, is_by_person, of_keys

SAMPLE_ROWS = 5
# One query counts so many checks: most find nothing, soon, and starting them takes longer.
IN_ONE_QUERY = 12


def run_checks(build: Build, checks: list[dict]) -> list[dict]:
    """How many rows break each rule, with a few of them."""
    parts = [checks[at : at + IN_ONE_QUERY] for at in range(0, len(checks), IN_ONE_QUERY)]
    with ThreadPoolExecutor(build.at_once) as pool:
        return [outcome for part in pool.map(lambda some: _run(build, some), parts) for outcome in part]


def _run(build: Build, checks: list[dict]) -> list[dict]:
    try:
        found = {check["name"]: rows for check in checks if (rows := _offenders(build, check)) is not None}
        counts = _counts(found)
        samples = {name: found[name].limit(SAMPLE_ROWS).toJSON().collect() for name in counts}
    except Exception as error:
        names = ", ".join(check["name"] for check in checks)
        raise RuntimeError(f"one of the checks {names}: {str(error).strip().splitlines()[0]}") from error
    return [
        {
            "name": check["name"],
            "offenders": counts.get(check["name"], 0),
            "sample": [json.loads(row) for row in samples.get(check["name"], [])],
        }
        for check in checks
    ]


def _offenders(build: Build, check: dict) -> DataFrame | None:
    shown = _shown(build, check)
    return None if shown is None else build.sql(check["sql"], shown)


def _counts(found: dict[str, DataFrame]) -> dict[str, int]:
    """The number of rows by name, where there are any."""
    named = [rows.select(F.lit(name).alias("name")) for name, rows in found.items()]
    if not named:
        return {}
    together = reduce(lambda all_rows, rows: all_rows.unionAll(rows), named)
    return {row["name"]: row["count"] for row in together.groupBy("name").count().collect()}


def _shown(build: Build, check: dict) -> dict[str, DataFrame] | None:
    """What a check has to see of each table that it reads; null where nothing changed that it could find broken."""
    reads = [build.tables[name] for name in check["reads"]]
    whole = {table.name: table.now for table in reads}
    if not build.is_incremental:
        return whole
    if all(table.delta is None for table in reads):
        return None
    by = check["incremental_by"]
    if check["reference"] is not None:
        return _of_reference(check["reference"], reads)
    if is_by_person(by, reads):
        return {table.name: _people_rows(build, table) for table in reads}
    if by == ["row"]:
        return {table.name: _new_rows(table) for table in reads}
    keys = changed_keys(by, reads)
    if keys is None:
        return whole
    return {table.name: of_keys(table.now, keys, by) if table.has(by) else table.now for table in reads}


def _people_rows(build: Build, table: Table) -> DataFrame:
    if PERSON not in table.columns:
        return table.now
    return table.people if table.people is not None else of_keys(table.now, build.people, [PERSON])


def _new_rows(table: Table) -> DataFrame:
    if table.delta is None:
        return table.now.where("false")
    return table.delta.came if table.delta.came is not None else table.now


def _of_reference(reference: dict, reads: list[Table]) -> dict[str, DataFrame]:
    """New rows of the table, and those that refer to a value that is gone."""
    table, target = reads[0], reads[-1]
    if target.name == table.name:
        return {table.name: table.now}
    if target.delta is None:
        rows = _new_rows(table)
    elif not target.delta.is_known:
        rows = table.now
    else:
        column = F.col(reference["target_column"]).alias("__value")
        changed = target.delta.rows.select(column).distinct()
        # Mostly none; then Spark does not read the table.
        gone = changed.join(target.now.select(column), "__value", "left_anti")
        left = table.now.join(gone, table.now[reference["column"]] == gone["__value"], "left_semi")
        rows = _new_rows(table).unionByName(left)
    return {table.name: rows, target.name: target.now}
