"""The Spark session of a job, with the settings that the models need."""

from pyspark.sql import SparkSession

# Only if the session is created here; a cluster with its own Delta has them.
_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    # Names of columns in checks stand in double quotes.
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.compression.codec": "zstd",
    # Both try every alias of a column: thousands for the wide unions and many names of the models.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.optimizer.expressionProjectionCandidateLimit": "4",
    # The log of a table published by Jobtide names a few dozen files.
    "spark.databricks.delta.snapshotPartitions": "1",
}


def open_session() -> SparkSession:
    builder = SparkSession.builder.appName("jobtide")
    if SparkSession.getActiveSession() is None:
        for name, value in _DELTA.items():
            builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for name, value in _SETTINGS.items():
        spark.conf.set(name, value)
    return spark
