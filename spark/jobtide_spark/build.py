"""Builds every model in run order: as a whole, or only what the changed rows of its inputs can alter."""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .ctes import shared, split, with_those
from .lake import Lake, input_delta
from .stored import SIGN, StoredTables
from .tables import ALL, PERSON, Delta, Table, changed_keys, is_by_person, of_keys
from .types import type_faults

AS_OF = "as_of"


class Build:
    def __init__(self, lake: Lake, job: dict, at_once: int):
        self.lake = lake
        self.spark = lake.spark
        self.job = job
        self.at_once = at_once
        self.is_incremental = job["incremental"]
        self.stored = StoredTables(lake, job["limits"])
        self.tables: dict[str, Table] = {}
        self.models = {model["name"]: model for model in job["models"]}
        self._reads: dict[str, int] = {}
        for model in job["models"]:
            for name in model["reads"]:
                self._reads[name] = self._reads.get(name, 0) + 1
        self._names = threading.Lock()
        self._numbers = itertools.count(1)

    def run(self) -> None:
        for function in self.job["functions"]:
            self.spark.sql(f"create or replace temporary function {function}")
        for table in self.job["inputs"]:
            self.tables[table["name"]] = self._input(table)
        if self.is_incremental:
            self._note_people()
        # Each waits for those that it reads, which stand before it: what a worker waits for was begun.
        with ThreadPoolExecutor(self.at_once) as pool:
            made: dict[str, Future] = {}
            for name, model in self.models.items():
                before = [made[read] for read in model["reads"] if read in made]
                made[name] = pool.submit(self._make, model, before)
            try:
                for future in made.values():
                    future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def sql(self, text: str, shown: dict[str, DataFrame]) -> DataFrame:
        """A select over tables that show these rows under their names. What would stand in several places of its plan is kept."""
        ctes, last = split(text)
        # One with the name of a table hides it, and only from what stands after it.
        kept = shared(ctes, last) - shown.keys()
        shown, inline = dict(shown), []
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

    def _input(self, table: dict) -> Table:
        name, columns = table["name"], [column["name"] for column in table["columns"]]
        # Each query of a Delta table plans a look into its log: the many of a night read the files that the log names.
        if self.is_incremental:
            now = self.lake.live(table["now"]["files"], table["now"]["vector"], table["columns"])
        else:
            now = self.lake.input(name, table["version"])
        own = Table(name, columns, now.select(*columns), is_computed=table["is_computed"])
        if self.is_incremental and table["change"] is not None:
            own.delta = Delta(self.lake.keep(f"delta/{name}", input_delta(self.lake, table)))
        return own

    def _note_people(self) -> None:
        """Who has changed events, and who has announced ones that came due since: what is current depends on the day."""
        of_people = [table for table in self.tables.values() if PERSON in table.columns]
        changed = [table.delta.rows.select(PERSON) for table in of_people if table.delta is not None]
        changed.append(self._due())
        people = changed[0]
        for other in changed[1:]:
            people = people.unionByName(other)
        self.people = self.lake.keep("changed_people", people.where(F.col(PERSON).isNotNull()).distinct())
        for table in of_people:
            given = next(one for one in self.job["inputs"] if one["name"] == table.name)
            table.people = of_keys(table.now, self.people, [PERSON])
            table.people_before = lambda table=table, given=given: of_keys(
                self.stored.before(given).select(*table.columns), self.people, [PERSON]
            )

    def _due(self) -> DataFrame:
        events = self.tables["job_change_events"].now
        none = events.select(PERSON).where("false")
        model = self.models.get(AS_OF)
        if model is None:
            return none
        shown = {name: self.tables[name].now for name in model["reads"]}
        now = self.sql(model["sql"], shown).collect()
        before = self.stored.before(model).collect()
        if not now or not before or now[0]["as_of_on"] == before[0]["as_of_on"]:
            return none
        days = sorted([now[0]["as_of_on"], before[0]["as_of_on"]])
        day = F.to_date("changed_at")
        return events.where((day > F.lit(days[0])) & (day <= F.lit(days[1]))).select(PERSON)

    def _make(self, model: dict, before: list[Future]) -> None:
        for future in before:
            future.result()
        name, started = model["name"], time.monotonic()
        try:
            self.tables[name] = self._refresh(model) if self.is_incremental else self._whole(model)
        except Exception as error:
            raise RuntimeError(f"model {name}: {str(error).strip().splitlines()[0]}") from error
        print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)

    def _made(self, model: dict, shown: dict[str, DataFrame]) -> DataFrame:
        rows = self.sql(model["sql"], shown)
        # A view is not published: its types are seen in the tables that are made of it.
        faults = [] if model["store"] is None else type_faults(model["name"], model["columns"], rows.dtypes)
        if faults:
            raise TypeError("; ".join(faults))
        return rows

    def _now(self, reads: list[Table]) -> dict[str, DataFrame]:
        return {table.name: table.now for table in reads}

    def _whole(self, model: dict) -> Table:
        name, columns = model["name"], [column["name"] for column in model["columns"]]
        reads = [self.tables[read] for read in model["reads"]]
        rows = self._made(model, self._now(reads))
        if model["store"] is None:
            # A view; where several read it, its rows are made once.
            return Table(name, columns, self._shared(name, rows))
        return Table(name, columns, self.stored.write_whole(model, rows))

    def _shared(self, name: str, rows: DataFrame) -> DataFrame:
        return self.lake.keep(f"views/{name}", rows) if self._reads.get(name, 0) > 1 else rows

    def _refresh(self, model: dict) -> Table:
        name, columns, by = model["name"], [column["name"] for column in model["columns"]], model["incremental_by"]
        reads = [self.tables[read] for read in model["reads"]]
        is_stored = model["store"] is not None
        if all(table.delta is None for table in reads):
            return self._unchanged(model, columns, reads)
        if is_by_person(by, reads):
            return self._by_person(model, columns, reads)
        if not is_stored:
            return Table(name, columns, self._shared(name, self._made(model, self._now(reads))), ALL)
        keys = changed_keys(by, reads)
        if keys is None:
            changes = self.stored.changes(model, self.stored.before(model), self._made(model, self._now(reads)))
        else:
            keys = self.lake.keep(f"keys/{name}", keys)
            shown = {
                table.name: of_keys(table.now, keys, by) if table.has(by) else table.now for table in reads
            }
            made = of_keys(self._made(model, shown), keys, by)
            changes = self.stored.changes(model, of_keys(self.stored.before(model), keys, by), made)
        return self._changed(model, columns, self.lake.keep(f"delta/{name}", changes.where(f"{SIGN} <> 0")))

    def _unchanged(self, model: dict, columns: list[str], reads: list[Table]) -> Table:
        name = model["name"]
        if model["store"] is None:
            rows = self._made(model, self._now(reads))
        else:
            self.stored.leave(model)
            rows = self.stored.before(model).select(*columns)
        table = Table(name, columns, rows)
        return table

    def _by_person(self, model: dict, columns: list[str], reads: list[Table]) -> Table:
        name = model["name"]

        def shown(of: str) -> dict[str, DataFrame]:
            return {table.name: self._people_rows(table, of) for table in reads}

        if model["store"] is None:
            people = self.lake.keep(f"people/{name}", self._made(model, shown("now")))
            now = self._made(model, self._now(reads))

            def before() -> DataFrame:
                return self._made(model, shown("before"))

            is_read = any(
                name in other["reads"] and other["incremental_by"] != [PERSON] for other in self.models.values()
            )
            rows = people.unionByName(before()) if is_read else people
            return Table(name, columns, now, Delta(rows), people, before)
        own_before = of_keys(self.stored.before(model), self.people, [PERSON])
        state = self.lake.keep(
            f"people/{name}", self.stored.changes(model, own_before, self._made(model, shown("now")))
        )
        table = self._changed(model, columns, state.where(f"{SIGN} <> 0"))
        table.people = state.where(f"{SIGN} >= 0").select(*columns)
        table.people_before = lambda: own_before.select(*columns)
        return table

    def _people_rows(self, table: Table, of: str) -> DataFrame:
        if PERSON not in table.columns:
            return table.now
        if of == "before" and table.people_before is not None:
            return table.people_before()
        return table.people if table.people is not None else of_keys(table.now, self.people, [PERSON])

    def _changed(self, model: dict, columns: list[str], changes: DataFrame) -> Table:
        name = model["name"]
        now = self.stored.apply(model, changes)
        if now is None:
            return Table(name, columns, self.stored.before(model).select(*columns))
        came = changes.where(f"{SIGN} > 0").select(*columns)
        return Table(name, columns, now, Delta(changes.select(*columns), came))
