"""The entry point for spark-submit: `spark-submit … spark/job.py <address of job.json>`."""

import sys

from jobtide_spark.run import run

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: job.py <address of the job.json that jobtide wrote>")
    run(sys.argv[1])
