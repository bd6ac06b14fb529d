"""Jobtide every night from Dagster 1.9 or later: `dagster dev -f jobtide_nightly.py`.

The process has `jobtide` on its PATH, JOBTIDE_BASE_URL and JOBTIDE_API_KEY_FILE in its environment, and the project of
`jobtide init` in JOBTIDE_PROJECT.
"""

import json
import os
import subprocess

from dagster import (
    AssetExecutionContext,
    AssetSelection,
    Backoff,
    Definitions,
    Failure,
    MaterializeResult,
    RetryPolicy,
    ScheduleDefinition,
    asset,
    define_asset_job,
)

# What a retry cannot fix: a bug, configuration, key, budget, a failed check, a refused publish, a damaged file.
NO_RETRY = (1, 2, 3, 4, 6, 7, 9)


@asset(
    retry_policy=RetryPolicy(max_retries=2, delay=900, backoff=Backoff.LINEAR),
    op_tags={"dagster/concurrency_key": "jobtide"},
)
def job_changes(context: AssetExecutionContext) -> MaterializeResult:
    """The warehouse and the snapshot of the pipeline `nightly`."""
    process = subprocess.run(
        ["jobtide", "run", "nightly", "--json"],
        cwd=os.environ.get("JOBTIDE_PROJECT", "."),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    document = json.loads(process.stdout)
    if process.returncode != 0:
        raise Failure(
            f"jobtide ended with {process.returncode}: {document['error']['message']}",
            allow_retries=process.returncode not in NO_RETRY,
        )
    return MaterializeResult(
        metadata={
            "run_id": document["run_id"],
            "credits": document["extract"]["credits"],
            "new_events": document["load"]["inserted"],
            "snapshot_id": (document["publish"] or {}).get("snapshot_id"),
        }
    )


nightly = define_asset_job("jobtide_nightly", selection=AssetSelection.assets(job_changes))

defs = Definitions(
    assets=[job_changes],
    schedules=[ScheduleDefinition(job=nightly, cron_schedule="15 2 * * *", execution_timezone="UTC")],
)
