"""Tables in files: what they held before, and how changed rows become new files and deletion vectors."""

from __future__ import annotations

import re
import threading

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from .lake import FILE, POSITION, Lake
from .layout import keep
from .types import schema_text

SIGN = "__sign"
YEAR = "__year"
WHOLE = "all"
# What one task writes soon enough: into one file, whose statistics are taken on the way.
FEW_ROWS = 100_000
_NULL_YEAR = "__HIVE_DEFAULT_PARTITION__"
_VECTOR = [{"name": "file", "type": "VARCHAR", "field_id": 1}, {"name": "position", "type": "BIGINT", "field_id": 2}]


class StoredTables:
    def __init__(self, lake: Lake, limits: dict):
        self.lake = lake
        self.limits = limits
        # By name of the table: files that stay or are new, and the deletion vector; null: it is as before.
        self.results: dict[str, dict | None] = {}
        self._lock = threading.Lock()

    def before(self, model: dict) -> DataFrame:
        """The rows that hold in the snapshot before, with the place of each."""
        before = model["before"]
        return self.lake.live(before["files"], before["vector"], model["columns"])

    def leave(self, model: dict) -> None:
        self.results[model["name"]] = None

    def write_whole(self, model: dict, rows: DataFrame) -> DataFrame:
        files = self._write(model, rows)
        self.results[model["name"]] = {"files": files, "vector": None}
        return self._read(model, files, None)

    def changes(self, model: dict, before: DataFrame, made: DataFrame) -> DataFrame:
        """Each row once: SIGN is -1 where it is gone, 1 where it came and 0 where it is the same; gone ones with their place."""
        names = [column["name"] for column in model["columns"]]
        was = before.withColumn(SIGN, F.lit(-1))
        now = made.select(
            *names,
            F.lit(None).cast("string").alias(FILE),
            F.lit(None).cast("bigint").alias(POSITION),
            F.lit(1).alias(SIGN),
        )
        return (
            was.unionByName(now)
            .groupBy(*names)
            .agg(F.sum(SIGN).cast("int").alias(SIGN), F.max(FILE).alias(FILE), F.max(POSITION).alias(POSITION))
        )

    def apply(self, model: dict, changes: DataFrame) -> DataFrame | None:
        """
        Writes what changes make of a table: new rows into new files, gone ones into its deletion vector.
        Returns its rows; null where nothing changed.
        """
        counted = changes.groupBy(self._partition(model).alias("partition"), FILE).count().collect()
        if not counted:
            self.leave(model)
            return None
        came = {row["partition"]: row["count"] for row in counted if row[FILE] is None}
        gone: dict[str, int] = {}
        for row in counted:
            if row[FILE] is not None:
                gone[row[FILE]] = gone.get(row[FILE], 0) + row["count"]
        before = model["before"]
        changed = {row["partition"] for row in counted}
        kept: list[dict] = []
        for partition in {file["partition"] for file in before["files"]}:
            own = [file for file in before["files"] if file["partition"] == partition]
            kept += keep(own, came.get(partition, 0), gone, self.limits) if partition in changed else own
        names = {file["sha256"] for file in kept}
        dropped = [file for file in before["files"] if file["sha256"] not in names]
        files = [{**file, "deletes": file["deletes"] + gone.get(file["sha256"], 0)} for file in kept]
        files += self._write_fresh(model, changes, came, dropped)
        vector = self._write_vector(model, changes, gone, kept, dropped)
        if not files:
            columns = schema_text(model["columns"])
            files = self._write({**model, "split": None}, self.lake.none(columns))
        self.results[model["name"]] = {"files": files, "vector": vector}
        return self._read(model, files, vector and vector["key"])

    def _write_fresh(self, model: dict, changes: DataFrame, came: dict, dropped: list[dict]) -> list[dict]:
        names = [column["name"] for column in model["columns"]]
        rows = changes.where(f"{SIGN} > 0").select(*names)
        most = sum(came.values()) + sum(file["rows"] - file["deletes"] for file in dropped)
        if dropped:
            gone = changes.where(f"{SIGN} < 0").select(FILE, POSITION)
            left = self.lake.live(dropped, model["before"]["vector"], model["columns"])
            rows = rows.unionByName(left.join(gone, [FILE, POSITION], "left_anti").select(*names))
        elif not came:
            return []
        return self._write(model, rows, most)

    def _write_vector(
        self, model: dict, changes: DataFrame, gone: dict, kept: list[dict], dropped: list[dict]
    ) -> dict | None:
        old = model["before"]["vector"]
        names = [file["sha256"] for file in kept]
        reduced = [file for file in kept if file["deletes"] > 0]
        lost = [name for name in names if name in gone]
        if not lost and not reduced:
            return None
        if not lost and not any(file["deletes"] > 0 for file in dropped):
            return {"key": old, "is_new": False}
        places = changes.where((F.col(SIGN) < 0) & F.col(FILE).isin(lost)).select(FILE, POSITION)
        places = places.unionByName(self.lake.vector(old, reduced))
        rows = places.select(F.col(FILE).alias("file"), F.col(POSITION).alias("position"))
        vector = {"name": f"{model['name']}.vector", "columns": _VECTOR, "key": ["file", "position"], "split": None}
        (file,) = self._write_few({**vector, "store": model["store"]}, rows)
        return {"is_new": True, **file}

    def _partition(self, model: dict) -> Column:
        split = model["split"]
        if split is None:
            return F.lit(WHOLE)
        year = F.coalesce(F.year(split["column"]).cast("string"), F.lit(_NULL_YEAR))
        return F.concat(F.lit(f"{split['stem']}_year="), year)

    def _write(self, model: dict, rows: DataFrame, most: int | None = None) -> list[dict]:
        """Writes rows, at most `most`, in the order of the key, and says what stands in each file."""
        columns, split, path = model["columns"], model["split"], self._path(model)
        if split is None and most is not None and most <= FEW_ROWS:
            return self._write_few(model, rows)
        if split is None:
            writer = rows.select(*_fields(columns)).hint("rebalance").sortWithinPartitions(*model["key"]).write
        else:
            with_year = rows.select(*_fields(columns), F.year(split["column"]).alias(YEAR))
            writer = with_year.hint("rebalance", YEAR).sortWithinPartitions(YEAR, *model["key"]).write.partitionBy(YEAR)
        writer.parquet(self.lake.path(path))
        keys, written = self._written(model)
        if not keys and split is not None:
            rows = self.lake.none(schema_text(columns))
            return self._write({**model, "split": None, "name": f"{model['name']}.none"}, rows)
        found = written.groupBy(F.col("_metadata.file_path").alias("path")).agg(*_statistics(model))
        stats = {key_of(row["path"], path): row.asDict() for row in found.collect()}
        return [_file(model, key, stats.get(key, {})) for key in keys]

    def _write_few(self, model: dict, rows: DataFrame) -> list[dict]:
        """Writes one file. What its last step counts is right also where a task was tried twice."""
        seen = Observation()
        one = rows.select(*_fields(model["columns"])).coalesce(1).sortWithinPartitions(*model["key"])
        one.observe(seen, *_statistics(model)).write.parquet(self.lake.path(self._path(model)))
        (key,), _ = self._written(model)
        return [_file(model, key, seen.get)]

    def _path(self, model: dict) -> str:
        return f"{self.lake.work}files/{model['store']}{model['name']}"

    def _written(self, model: dict) -> tuple[list[str], DataFrame]:
        """The keys of the files that were written of a table, and their rows."""
        path = self._path(model)
        rows = self.lake.parquet([self.lake.path(path)], schema_text(model["columns"]))
        return sorted(key_of(address, path) for address in rows.inputFiles()), rows

    def _read(self, model: dict, files: list[dict], vector: str | None) -> DataFrame:
        names = [column["name"] for column in model["columns"]]
        return self.lake.live(files, vector, model["columns"]).select(*names)


def key_of(address: str, path: str) -> str:
    """The key of a file below the folder `path`, whatever Spark calls its address."""
    return path + re.sub(r"%3D", "=", address).split(path, 1)[1]


def _fields(columns: list[dict]) -> list[Column]:
    return [F.col(one["name"]).alias(one["name"], metadata={"parquet.field.id": one["field_id"]}) for one in columns]


def _statistics(model: dict) -> list[Column]:
    """What is said of a file: its rows, and the bounds and nulls of its columns."""
    bounds = [bound for column in model["columns"] for bound in _bounds(column, model["key"])]
    return [F.count("*").alias("rows"), *bounds]


def _bounds(column: dict, key: list[str]) -> list[Column]:
    """Smallest and largest value as text, and the number of nulls. Text other than keys stays out, as in src/publish."""
    name, kind = column["name"], column["type"]
    nulls = [F.count_if(F.col(name).isNull()).alias(f"nulls {name}")]
    if kind.endswith("[]") or (kind == "VARCHAR" and name not in key):
        return nulls
    value = F.col(name)
    if kind in ("DOUBLE", "FLOAT"):
        value = F.when(~F.isnan(value), value)
    return nulls + [
        F.min(value).cast("string").alias(f"min {name}"),
        F.max(value).cast("string").alias(f"max {name}"),
    ]


def _file(model: dict, key: str, stats: dict) -> dict:
    split = model["split"]
    year = re.search(rf"/{YEAR}=([^/]+)/", key)
    bounds: dict[str, dict] = {"min": {}, "max": {}, "nulls": {}}
    for label, value in stats.items():
        what, _, name = label.partition(" ")
        if what in bounds and value is not None and value != 0:
            bounds[what][name] = value
    return {
        "key": key,
        "partition": f"{split['stem']}_year={year[1]}" if split and year else WHOLE,
        "rows": stats.get("rows", 0),
        "deletes": 0,
        **bounds,
    }
