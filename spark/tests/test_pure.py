"""What needs no Spark: types, layout, addresses. `python -m unittest discover -s spark/tests -t spark`."""

import unittest

from jobtide_spark.ctes import shared, split, with_those
from jobtide_spark.layout import keep
from jobtide_spark.run import new_files, split_address
from jobtide_spark.stored import _file, key_of
from jobtide_spark.types import schema_text, spark_type, type_faults

LIMITS = {"small_bytes": 256 * 1024, "most_files": 8, "most_deleted": 0.1, "most_fresh": 0.25}


def file(name: str, rows: int = 1000, deletes: int = 0, size: int = 1_000_000) -> dict:
    return {"key": name, "sha256": name, "rows": rows, "deletes": deletes, "bytes": size}


class Layout(unittest.TestCase):
    def names(self, files: list[dict], came: int = 0, gone: dict | None = None) -> list[str]:
        return [one["sha256"] for one in keep(files, came, gone or {}, LIMITS)]

    def test_few_changes_keep_the_files(self) -> None:
        self.assertEqual(self.names([file("a")], 10, {"a": 10}), ["a"])

    def test_a_small_partition_is_written_again(self) -> None:
        self.assertEqual(self.names([file("a", size=1000)], 1), [])

    def test_more_than_a_tenth_deleted_or_a_quarter_new_is_written_again(self) -> None:
        self.assertEqual(self.names([file("a")], 0, {"a": 101}), [])
        self.assertEqual(self.names([file("a", deletes=100)], 0, {"a": 1}), [])
        self.assertEqual(self.names([file("a")], 400), [])

    def test_of_eight_files_only_the_largest_stays(self) -> None:
        files = [file("a", 100_000, size=9_000_000)] + [file(f"f{at}", 100) for at in range(7)]
        self.assertEqual(self.names(files, 1), ["a"])

    def test_a_file_without_a_row_does_not_stay(self) -> None:
        self.assertEqual(self.names([file("a", 100_000), file("b", 10)], 1, {"b": 10}), ["a"])


class Expressions(unittest.TestCase):
    SQL = """
        -- One, two (not the end
        with one as (select ')' as a from t group by a), two as (select a from one), three as (select x.a from two as x join one on true)
        select * from three join two on true"""

    def test_a_with_is_taken_apart_whatever_stands_in_texts_and_comments(self) -> None:
        ctes, last = split(self.SQL)
        self.assertEqual([name for name, _ in ctes], ["one", "two", "three"])
        self.assertEqual(ctes[0][1], "select ')' as a from t group by a")
        self.assertEqual(last, "select * from three join two on true")
        self.assertEqual(split("select 1"), ([], "select 1"))

    def test_what_works_and_would_stand_in_several_places_is_shared(self) -> None:
        # `two` stands in two places and does nothing, so `one` stands in three.
        self.assertEqual(shared(*split(self.SQL)), {"one"})

    def test_a_part_is_read_behind_what_it_needs_and_no_more(self) -> None:
        ctes = [("a", "select 1"), ("b", "select * from a"), ("c", "select 2")]
        self.assertEqual(with_those(ctes, "select * from b"), "with a as (select 1),\nb as (select * from a)\nselect * from b")
        self.assertEqual(with_those(ctes, "select 3"), "select 3")


class Types(unittest.TestCase):
    def test_are_named_as_spark_does(self) -> None:
        self.assertEqual(spark_type("TIMESTAMP WITH TIME ZONE"), "timestamp")
        self.assertEqual(spark_type("VARCHAR[]"), "array<string>")
        self.assertEqual(spark_type("DECIMAL(38,0)"), "decimal(38,0)")
        with self.assertRaises(ValueError):
            spark_type("HUGEINT")

    def test_that_differ_are_told(self) -> None:
        columns = [{"name": "a", "type": "BIGINT"}]
        self.assertEqual(schema_text(columns), "`a` bigint")
        self.assertEqual(type_faults("t", columns, [("a", "bigint")]), [])
        self.assertEqual(type_faults("t", columns, [("a", "int")]), ["t.a is int, and must be bigint"])
        self.assertEqual(type_faults("t", columns, [("b", "bigint")]), ["t has the columns b"])


class Addresses(unittest.TestCase):
    def test_of_a_job_name_the_destination(self) -> None:
        self.assertEqual(split_address("s3a://b/p/work/01K/job.json"), ("s3a://b/p", "work/01K/"))
        with self.assertRaises(ValueError):
            split_address("s3a://b/p/job.json")

    def test_of_a_file_become_keys(self) -> None:
        address = "file:///lake/work/01K/files/t/__year%3D2019/part-0.parquet"
        key = key_of(address, "work/01K/files/t")
        self.assertEqual(key, "work/01K/files/t/__year=2019/part-0.parquet")
        model = {"split": {"column": "joined_at", "stem": "joined"}}
        described = _file(model, key, {"rows": 3, "min a": "1", "max a": "2", "nulls a": 0, "nulls b": 2})
        self.assertEqual(described["partition"], "joined_year=2019")
        self.assertEqual((described["min"], described["max"], described["nulls"]), ({"a": "1"}, {"a": "2"}, {"b": 2}))

    def test_files_of_one_name_are_told_apart_by_their_year(self) -> None:
        address = "s3a://b/p/work/01K/files/t/__year%3D2019/part-0.parquet"
        key = key_of(address, "work/01K/")
        self.assertEqual(key, "work/01K/files/t/__year=2019/part-0.parquet")
        self.assertNotEqual(key_of(address.replace("2019", "2020"), "work/01K/"), key)

    def test_new_files_have_no_hash_yet(self) -> None:
        table = {"files": [file("a"), {"key": "b"}], "vector": {"key": "c", "is_new": True}}
        self.assertEqual([one["key"] for one in new_files(table)], ["b", "c"])


if __name__ == "__main__":
    unittest.main()
