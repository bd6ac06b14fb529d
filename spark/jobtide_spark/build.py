"""Builds the models in run order, several at a time."""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

from pyspark.sql import DataFrame

from .ctes import shared, split, with_those
from .lake import Lake, reason
from .published import Published
from .types import type_faults


class Build:
    def __init__(self, lake: Lake, job: dict, at_once: int):
        self.lake = lake
        self.spark = lake.spark
        self.job = job
        self.at_once = at_once
        self.tables: dict[str, DataFrame] = {}
        self.published = Published(lake)
        self._names = threading.Lock()
        self._numbers = itertools.count(1)

    def run(self) -> None:
        for function in self.job["functions"]:
            self.spark.sql(f"create or replace temporary function {function}")
        for table in self.job["inputs"]:
            self.tables[table["name"]] = self.lake.input(table["name"], table["version"])
        # A model waits for the models that it reads. Those come before it, so a worker never waits for a model that
        # has not started.
        with ThreadPoolExecutor(self.at_once) as pool:
            made: dict[str, Future] = {}
            for model in self.job["models"]:
                before = [made[name] for name in model["reads"] if name in made]
                made[model["name"]] = pool.submit(self._make, model, before)
            try:
                for future in made.values():
                    future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def sql(self, text: str, reads: list[str]) -> DataFrame:
        """A select over tables by name. An expression used in several places of its plan is computed once."""
        shown, inline = {name: self.tables[name] for name in reads}, []
        ctes, last = split(text)
        # An expression with the name of a table hides it, but only from the text after it.
        kept = shared(ctes, last) - shown.keys()
        for name, body in ctes:
            if name not in kept:
                inline.append((name, body))
                continue
            rows = self._select(with_those(inline, body), shown)
            shown[name] = self.lake.keep(f"expressions/{next(self._numbers)}-{name}", rows)
        return self._select(with_those(inline, last), shown)

    def _select(self, text: str, shown: dict[str, DataFrame]) -> DataFrame:
        with self._names:
            for name, rows in shown.items():
                rows.createOrReplaceTempView(name)
            return self.spark.sql(text)

    def _make(self, model: dict, before: list[Future]) -> None:
        for future in before:
            future.result()
        name, started = model["name"], time.monotonic()
        try:
            self.tables[name] = self._stored(model, self.sql(model["sql"], model["reads"]))
        except Exception as error:
            raise RuntimeError(f"model {name}: {reason(error)}") from error
        print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)

    def _stored(self, model: dict, rows: DataFrame) -> DataFrame:
        if model["stored"] == "published":
            faults = type_faults(model["name"], model["columns"], rows.dtypes)
            if faults:
                raise TypeError("; ".join(faults))
            return self.published.write(model, rows)
        return self.lake.keep(f"models/{model['name']}", rows) if model["stored"] == "kept" else rows
