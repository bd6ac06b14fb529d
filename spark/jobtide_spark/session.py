"""The Spark session of a job, as the models count on it."""

from pyspark.sql import SparkSession

# Only where the session is made here; a cluster with Delta of its own has them.
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
    # Both look at all ways to say a column; of the wide unions and many names in models these are thousands.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.optimizer.expressionProjectionCandidateLimit": "4",
    # Of a table as Jobtide publishes it a log names some dozen files.
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
