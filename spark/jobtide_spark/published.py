"""Published tables: their files, the content of each, and a fingerprint of the rows of each partition."""

from __future__ import annotations

import re

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from .lake import Lake
from .types import schema_text

YEAR = "__year"
WHOLE = "all"


class Published:
    def __init__(self, lake: Lake):
        self.lake = lake
        # By name of the table.
        self.partitions: dict[str, list[dict]] = {}

    def write(self, model: dict, rows: DataFrame) -> DataFrame:
        """Writes a table in the order of its key, and returns the rows that were written."""
        name, columns, key, split = model["name"], model["columns"], model["key"], model["split"]
        folder = f"{self.lake.work}files/{name}"
        fields = [F.col(one["name"]).alias(one["name"], metadata={"parquet.field.id": one["field_id"]}) for one in columns]
        if split is None:
            writer = rows.select(*fields).hint("rebalance").sortWithinPartitions(*key).write
        else:
            with_year = rows.select(*fields, F.year(split["column"]).alias(YEAR)).hint("rebalance", YEAR)
            writer = with_year.sortWithinPartitions(YEAR, *key).write.partitionBy(YEAR)
        writer.parquet(self.lake.path(folder))
        written = self.lake.written(folder, schema_text(columns))
        keys = sorted(key_of(path, folder) for path in written.inputFiles())
        if not keys and split is not None:
            # A table without rows has no folder of a year.
            return self.write({**model, "name": f"{name}/none", "split": None}, rows)
        counted = written.groupBy(F.col("_metadata.file_path").alias("path")).agg(*_statistics(columns, key)).collect()
        found = {key_of(row["path"], folder): row.asDict() for row in counted}
        self.partitions[name.split("/")[0]] = partitions([(one, found.get(one, {})) for one in keys], split)
        return written

    def add_hashes(self) -> None:
        """Returns the size and SHA-256 of every file, read back from the destination."""
        files = [file for table in self.partitions.values() for partition in table for file in partition["files"]]
        read = self.lake.spark.read.format("binaryFile").load([self.lake.path(file["key"]) for file in files])
        found = read.select("path", "length", F.sha2("content", 256).alias("sha256")).collect()
        # By key: the files of one task have the same name in the folder of each year.
        known = {key_of(row["path"], self.lake.work): row for row in found}
        for file in files:
            row = known[file["key"]]
            file["bytes"], file["sha256"] = row["length"], row["sha256"]


def key_of(address: str, path: str) -> str:
    """The key of a file below the folder `path`, whatever its address in Spark."""
    return path + re.sub(r"%3D", "=", address).split(path, 1)[1]


def partitions(files: list[tuple[str, dict]], split: dict | None) -> list[dict]:
    """The partitions of a table, from the keys of its files and the figures of each."""
    found: dict[str, dict] = {}
    for key, counted in files:
        year = re.search(rf"/{YEAR}=([^/]+)/", key)
        name = f"{split['stem']}_year={year[1]}" if split and year else WHOLE
        own = found.setdefault(name, {"name": name, "rows": 0, "xor": 0, "sum": 0, "files": []})
        own["rows"] += counted.get("rows", 0)
        own["xor"] ^= (counted.get("xor") or 0) & (2**64 - 1)
        own["sum"] += int(counted.get("sum") or 0)
        bounds: dict[str, dict] = {"min": {}, "max": {}, "nulls": {}}
        for label, value in counted.items():
            what, _, column = label.partition(" ")
            if what in bounds and value is not None and value != 0:
                bounds[what][column] = value
        own["files"].append({"key": key, "rows": counted.get("rows", 0), **bounds})
    return [
        {"name": one["name"], "rows": one["rows"], "fingerprint": f"spark-{one['xor']:X}:{one['sum']}", "files": one["files"]}
        for one in found.values()
    ]


def _statistics(columns: list[dict], key: list[str]) -> list[Column]:
    """The figures of a file: its rows, their fingerprint, and the bounds and nulls of its columns."""
    row_hash = _row_hash(columns)
    return [
        F.count("*").alias("rows"),
        F.bit_xor(row_hash).alias("xor"),
        F.sum(row_hash.cast("decimal(20,0)")).alias("sum"),
        *[bound for column in columns for bound in _bounds(column, key)],
    ]


def _row_hash(columns: list[dict]) -> Column:
    """64 bits of a row. Spark's hash ignores nulls and the ends of lists, so both are added."""
    values = [F.to_json(one["name"]) if one["type"].endswith("[]") else F.col(one["name"]) for one in columns]
    return F.xxhash64(*values, F.array(*[F.col(one["name"]).isNull() for one in columns]))


def _bounds(column: dict, key: list[str]) -> list[Column]:
    """Smallest and largest value as text, and the number of nulls. Text outside the key has no bounds, as in src/publish."""
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
