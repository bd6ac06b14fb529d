"""Maps types of DuckDB to types of Spark."""

import re

_NAMES = {
    "VARCHAR": "string",
    "BOOLEAN": "boolean",
    "TINYINT": "tinyint",
    "SMALLINT": "smallint",
    "INTEGER": "int",
    "BIGINT": "bigint",
    "FLOAT": "float",
    "DOUBLE": "double",
    "DATE": "date",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
}


def spark_type(name: str) -> str:
    """Spark's name for a type. Raises ValueError for one that tables of Jobtide do not have."""
    if name.endswith("[]"):
        return f"array<{spark_type(name[:-2])}>"
    if re.fullmatch(r"DECIMAL\(\d+,\d+\)", name):
        return name.lower()
    if name not in _NAMES:
        raise ValueError(f"the type {name} is not known")
    return _NAMES[name]


def schema_text(columns: list[dict]) -> str:
    """Columns as Spark reads them: `name type, …`."""
    return ", ".join(f"`{column['name']}` {spark_type(column['type'])}" for column in columns)


def type_faults(table: str, columns: list[dict], found: list[tuple[str, str]]) -> list[str]:
    """The differences between the required columns of a table and those from Spark."""
    wanted = [(column["name"], spark_type(column["type"])) for column in columns]
    if [name for name, _ in wanted] != [name for name, _ in found]:
        return [f"{table} has the columns {', '.join(name for name, _ in found)}"]
    return [
        f"{table}.{name} is {made}, and must be {wanted_type}"
        for (name, wanted_type), (_, made) in zip(wanted, found)
        if wanted_type != made
    ]
