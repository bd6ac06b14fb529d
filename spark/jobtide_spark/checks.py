"""Runs the checks over what was built; after an incremental build only over what that can have broken."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import DataFrame

from .build import Build
from .tables import PERSON, Table, changed_keys, is_by_person, of_keys

SAMPLE_ROWS = 5


def run_checks(build: Build, checks: list[dict]) -> list[dict]:
    """How many rows break each rule, with a few of them."""
    with ThreadPoolExecutor(build.at_once) as pool:
        return list(pool.map(lambda check: _run(build, check), checks))


def _run(build: Build, check: dict) -> dict:
    try:
        shown = _shown(build, check)
        if shown is None:
            return {"name": check["name"], "offenders": 0, "sample": []}
        rows = build.sql(check["sql"], shown)
        offenders = rows.count()
        sample = rows.limit(SAMPLE_ROWS).toJSON().collect() if offenders > 0 else []
    except Exception as error:
        raise RuntimeError(f"check {check['name']}: {str(error).strip().splitlines()[0]}") from error
    return {"name": check["name"], "offenders": offenders, "sample": [json.loads(row) for row in sample]}


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
    """New rows of the table, and those that refer to a value of which a row came or went."""
    table, target = reads[0], reads[-1]
    rows = _new_rows(table)
    if target.delta is not None and target.name != table.name:
        if not target.delta.is_known:
            return {table.name: table.now, target.name: target.now}
        values = target.delta.rows.selectExpr(f"`{reference['target_column']}` as __value").distinct()
        rows = rows.unionByName(table.now.join(values, table.now[reference["column"]] == values["__value"], "left_semi"))
    return {table.name: rows, target.name: target.now} if target.name != table.name else {table.name: table.now}
