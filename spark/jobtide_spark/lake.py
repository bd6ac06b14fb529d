"""Where the files of the destination are, and the rows that hold in them."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .types import schema_text

# The SHA-256 of the file that a row stands in, and its place there, from 0: what a deletion vector names.
FILE = "__file"
POSITION = "__position"
_VECTOR = "file string, position bigint"


class Lake:
    """The destination: files are named by their keys in it."""

    def __init__(self, spark: SparkSession, root: str, work: str):
        self.spark = spark
        self.root = root.rstrip("/")
        self.work = work

    def path(self, key: str) -> str:
        return f"{self.root}/{key}"

    def parquet(self, paths: list[str], schema: str) -> DataFrame:
        # Folders such as joined_year=2019 are no columns.
        return self.spark.read.schema(schema).option("recursiveFileLookup", "true").parquet(*paths)

    def none(self, schema: str) -> DataFrame:
        """No rows."""
        return self.spark.sql(f"select from_json(null, '{schema}') as row").select("row.*").where("false")

    def located(self, files: list[dict], columns: list[dict]) -> DataFrame:
        """All rows of files, with the place of each."""
        schema = schema_text(columns)
        names = [F.col(column["name"]) for column in columns]
        if not files:
            return self.none(f"{schema}, {FILE} string, {POSITION} bigint")
        return self.parquet([self.path(file["key"]) for file in files], schema).select(
            *names,
            # Files of a snapshot are called by it.
            F.substring(F.col("_metadata.file_name"), 1, 64).alias(FILE),
            F.col("_metadata.row_index").alias(POSITION),
        )

    def vector(self, key: str | None, files: list[dict]) -> DataFrame:
        """The places that a deletion vector names in these files."""
        if key is None or not files:
            return self.none(f"{FILE} string, {POSITION} bigint")
        rows = self.parquet([self.path(key)], _VECTOR).where(F.col("file").isin([file["sha256"] for file in files]))
        return rows.select(F.col("file").alias(FILE), F.col("position").alias(POSITION))

    def live(self, files: list[dict], vector: str | None, columns: list[dict]) -> DataFrame:
        """The rows of files that hold, with the place of each."""
        whole = [file for file in files if file["deletes"] == 0]
        others = [file for file in files if file["deletes"] > 0]
        if not others:
            return self.located(whole, columns)
        rows = self.located(others, columns).join(
            F.broadcast(self.vector(vector, others)), [FILE, POSITION], "left_anti"
        )
        rows = rows.select(*[column["name"] for column in columns], FILE, POSITION)
        return rows.unionByName(self.located(whole, columns)) if whole else rows

    def input(self, name: str, version: int) -> DataFrame:
        """A table of the inputs, as its Delta log shows it in that version."""
        reader = self.spark.read.format("delta").option("versionAsOf", version)
        return reader.load(self.path(f"inputs/tables/{name}"))

    def keep(self, name: str, rows: DataFrame) -> DataFrame:
        """Writes rows that only this job needs, and reads them back: what is made of them does not make them again."""
        path = self.path(f"{self.work}scratch/{name}")
        rows.write.parquet(path)
        return self.spark.read.schema(rows.schema).parquet(path)


def input_delta(lake: Lake, table: dict) -> DataFrame:
    """The rows of an input that came or went between the two versions; from the files and deletion vectors that differ."""
    change, columns = table["change"], table["columns"]
    names = [column["name"] for column in columns]
    came = lake.live(change["added"], change["vector"], columns).select(*names)
    kept = change["kept"]
    before = lake.vector(change["vector_before"], [file for file in kept if file["deletes_before"] > 0])
    new = lake.vector(change["vector"], kept).join(before, [FILE, POSITION], "left_anti")
    gone = lake.located(kept, columns).join(F.broadcast(new), [FILE, POSITION], "left_semi").select(*names)
    if not change["removed"]:
        return came.unionByName(gone)
    gone = gone.unionByName(lake.live(change["removed"], change["vector_before"], columns).select(*names))
    # Files were written again: most of their rows are the same.
    both = came.withColumn("__sign", F.lit(1)).unionByName(gone.withColumn("__sign", F.lit(-1)))
    return both.groupBy(*names).agg(F.sum("__sign").alias("__sign")).where("__sign <> 0").select(*names)
