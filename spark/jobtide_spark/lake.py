"""The files of the destination."""

from pyspark.sql import DataFrame, SparkSession


class Lake:
    """The destination: files are named by their keys in it."""

    def __init__(self, spark: SparkSession, root: str, work: str):
        self.spark = spark
        self.root = root.rstrip("/")
        self.work = work

    def path(self, key: str) -> str:
        return f"{self.root}/{key}"

    def input(self, name: str, version: int) -> DataFrame:
        """A table of the inputs, as its Delta log shows it in that version."""
        return self.spark.read.format("delta").option("versionAsOf", version).load(self.path(f"inputs/tables/{name}"))

    def written(self, folder: str, schema: str) -> DataFrame:
        """The rows of files that this job wrote below a folder."""
        # Folders such as joined_year=2019 are not columns.
        return self.spark.read.schema(schema).option("recursiveFileLookup", "true").parquet(self.path(folder))

    def keep(self, name: str, rows: DataFrame) -> DataFrame:
        """Writes rows that only this job needs, and reads them back, so that each reader does not make them again."""
        path = self.path(f"{self.work}scratch/{name}")
        rows.write.parquet(path)
        return self.spark.read.schema(rows.schema).parquet(path)


def reason(error: Exception) -> str:
    """An error in one line: for a Java error, its last cause."""
    lines = str(error).strip().splitlines()
    return next((line for line in reversed(lines) if line.startswith("Caused by: ")), " ".join(lines[:2]))
