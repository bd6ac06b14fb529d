"""What needs no Spark: types, partitions, addresses. `python -m unittest discover -s spark/tests -t spark`."""

import unittest

from jobtide_spark.ctes import shared, split, with_those
from jobtide_spark.lake import reason
from jobtide_spark.published import key_of, partitions
from jobtide_spark.run import split_address
from jobtide_spark.types import schema_text, spark_type, type_faults


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

    def test_of_an_error_of_java_the_last_cause_is_told(self) -> None:
        self.assertEqual(reason(ValueError("called o1.parquet.\n: Job aborted\nCaused by: a\n\tat x\nCaused by: b\n")), "Caused by: b")
        self.assertEqual(reason(ValueError("only this")), "only this")


class Partitions(unittest.TestCase):
    SPLIT = {"column": "joined_at", "stem": "joined"}

    def test_have_the_files_and_the_rows_of_their_year(self) -> None:
        files = [
            ("t/__year=2019/a", {"rows": 3, "min a": "1", "max a": "2", "nulls a": 0, "nulls b": 2, "xor": 1, "sum": 1}),
            ("t/__year=2019/b", {"rows": 2, "xor": -1, "sum": -1}),
            ("t/__year=2020/a", {"rows": 1, "xor": 5, "sum": 5}),
        ]
        first, second = partitions(files, self.SPLIT)
        self.assertEqual((first["name"], first["rows"], len(first["files"])), ("joined_year=2019", 5, 2))
        self.assertEqual(first["fingerprint"], "spark-FFFFFFFFFFFFFFFE:0")
        self.assertEqual(second["fingerprint"], "spark-5:5")
        self.assertEqual(
            first["files"][0], {"key": files[0][0], "rows": 3, "min": {"a": "1"}, "max": {"a": "2"}, "nulls": {"b": 2}}
        )

    def test_a_fingerprint_depends_on_the_rows_and_not_on_their_files(self) -> None:
        def of(*counted: tuple[int, int]) -> str:
            files = [(f"t/{at}", {"rows": 1, "xor": xor, "sum": total}) for at, (xor, total) in enumerate(counted)]
            return partitions(files, None)[0]["fingerprint"]

        self.assertEqual(of((1 ^ 2, 3), (4, 4)), of((4 ^ 1, 5), (2, 2)))
        self.assertNotEqual(of((1, 1), (1, 1)), of((2, 2), (2, 2)))

    def test_a_table_without_rows_is_one_file(self) -> None:
        expected = [{"name": "all", "rows": 0, "fingerprint": "spark-0:0", "files": [{"key": "t/a", "rows": 0, "min": {}, "max": {}, "nulls": {}}]}]
        self.assertEqual(partitions([("t/a", {})], None), expected)
