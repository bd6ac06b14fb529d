"""What a build knows of one table: its rows now and before, and which of them differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

PERSON = "profile_id"


@dataclass
class Delta:
    """How a table changed. `rows` came or went; `came` are those that came, null where the two are not told apart."""

    rows: DataFrame | None
    came: DataFrame | None = None

    @property
    def is_known(self) -> bool:
        return self.rows is not None


# Any row may be another one.
ALL = Delta(rows=None)


@dataclass
class Table:
    name: str
    columns: list[str]
    now: DataFrame
    # Null: it is as before.
    delta: Delta | None = None
    # All rows of changed people, as they are now; null where the table is not computed by person.
    people: DataFrame | None = None
    # The rows of changed people as they were.
    people_before: Callable[[], DataFrame] | None = None
    # Made from nothing but titles or configuration: a new row says nothing new of people who did not change.
    is_computed: bool = False
    files: list[dict] = field(default_factory=list)

    def has(self, names: list[str]) -> bool:
        return all(name in self.columns for name in names)


def is_by_person(incremental_by: list[str], reads: list[Table]) -> bool:
    """Whether what reads these tables can be computed for changed people alone; as isByPeople in src/model."""
    return incremental_by == [PERSON] and all(
        table.delta is None or table.people is not None or table.is_computed or table.name == "as_of" for table in reads
    )


def changed_keys(incremental_by: list[str], reads: list[Table]) -> DataFrame | None:
    """The keys whose rows may be others now; null when that may be any key."""
    changed = [table for table in reads if table.delta is not None]
    if not incremental_by or not all(table.delta.is_known and table.has(incremental_by) for table in changed):
        return None
    keys = None
    for table in changed:
        own = table.delta.rows.select(*incremental_by)
        keys = own if keys is None else keys.unionByName(own)
    return None if keys is None else keys.distinct()


def of_keys(rows: DataFrame, keys: DataFrame, names: list[str]) -> DataFrame:
    """The rows that have one of the keys; null is a value like others."""
    condition = None
    for name in names:
        same = rows[name].eqNullSafe(keys[name])
        condition = same if condition is None else condition & same
    return rows.join(keys, condition, "left_semi")
