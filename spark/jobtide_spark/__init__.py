"""Builds the models of Jobtide on Spark: reads published inputs, writes Parquet files and one result, and nothing else."""
