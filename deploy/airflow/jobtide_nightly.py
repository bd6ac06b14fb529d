"""Jobtide every night from Airflow 2.9 or later.

The worker has `jobtide` on its PATH, JOBTIDE_BASE_URL and JOBTIDE_API_KEY_FILE in its environment, and the project of
`jobtide init` in JOBTIDE_PROJECT. The data directory is on the disk of one worker: pin the task to its queue.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta

from airflow.decorators import dag, task

# What a retry cannot fix: a bug, configuration, key, budget, a failed check, a refused publish, a damaged file.
NO_RETRY = (1, 2, 3, 4, 6, 7, 9)


@dag(
    schedule="15 2 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=15)},
    tags=["jobtide"],
)
def jobtide_nightly():
    @task
    def run(pipeline: str = "nightly") -> dict:
        """Returns what `jobtide run --json` prints: credits, rows, the snapshot."""
        import json
        import subprocess

        from airflow.exceptions import AirflowException, AirflowFailException

        # It gets SIGTERM if the task is cleared or times out: it then ends cleanly and loses nothing.
        with subprocess.Popen(
            ["jobtide", "run", pipeline, "--json"],
            cwd=os.environ.get("JOBTIDE_PROJECT", "."),
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                printed, _ = process.communicate()
            except BaseException:
                process.terminate()
                process.wait(timeout=60)
                raise
        document = json.loads(printed)
        if process.returncode == 0:
            return document
        said = f"jobtide ended with {process.returncode}: {document['error']['message']}"
        raise (AirflowFailException if process.returncode in NO_RETRY else AirflowException)(said)

    run()


jobtide_nightly()
