"""What bench/run says of a row that has a bar, and of how far it is."""

import contextlib
import importlib.machinery
import importlib.util
import io
import unittest
from pathlib import Path
from unittest import mock

REPO = Path(__file__).resolve().parents[2]


def load():
    """The program as a module."""
    loader = importlib.machinery.SourceFileLoader("bench_run", str(REPO / "bench" / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Bars(unittest.TestCase):
    def verdict(self, value: float, **bars) -> str:
        return load().verdict({"name": "x", "value": value, "unit": "s", **bars})

    def test_a_row_without_one_has_no_verdict(self):
        self.assertEqual(self.verdict(1), "")

    def test_a_bar_is_an_upper_bound(self):
        self.assertEqual(self.verdict(2, bar=2), "(bar: at most 2, met)")
        self.assertEqual(self.verdict(3, bar=2), "(bar: at most 2, missed)")

    def test_at_least_is_a_lower_one(self):
        self.assertEqual(self.verdict(1000, at_least=1000), "(bar: at least 1,000, met)")
        self.assertEqual(self.verdict(999, at_least=1000), "(bar: at least 1,000, missed)")

    def test_both_must_hold(self):
        text = "(bar: at least 1 and at most 2, missed)"
        self.assertEqual(self.verdict(0, at_least=1, bar=2), text)
        self.assertEqual(self.verdict(3, at_least=1, bar=2), text)
        self.assertEqual(self.verdict(1, at_least=1, bar=2), text.replace("missed", "met"))


class FromGoogle(unittest.TestCase):
    def rows(self, **counters) -> dict[str, dict]:
        results = []
        for aggregate, ours in (("median", 2.0), ("mean", 3.0), (None, 4.0)):
            for family, (who, time) in enumerate((("mainspring", ours), ("other", 32.0))):
                result = {"name": "x", "run_name": f"decode/{who}", "real_time": time}
                result |= {"family_index": family, "per_family_instance_index": 0}
                result |= {"time_unit": "ms"} | (counters if who == "mainspring" else {})
                results.append(result | ({"aggregate_name": aggregate} if aggregate else {}))
        # They come in the order in which they ended, which is by chance.
        return {row["name"]: row for row in load().from_google(results[::-1])}

    def test_a_peer_makes_a_ratio_of_medians(self):
        wanted = {"name": "decode_vs_other", "value": 16.0, "unit": "ratio"}
        self.assertEqual(self.rows()["decode_vs_other"], wanted)

    def test_rows_stand_as_in_the_program(self):
        wanted = ["decode/mainspring", "decode/other", "decode_vs_other"]
        self.assertEqual(list(self.rows()), wanted)

    def test_at_least_of_ours_is_the_bar_of_the_ratio_and_no_row(self):
        rows = self.rows(at_least=15.0)
        self.assertEqual(load().verdict(rows["decode_vs_other"]), "(bar: at least 15, met)")
        self.assertEqual(set(rows), {"decode/mainspring", "decode/other", "decode_vs_other"})

    def test_one_that_failed_fails_all(self):
        program = load()
        with self.assertRaisesRegex(program.Failure, "decode: the line was refused"):
            program.from_google(
                [
                    {
                        "name": "decode",
                        "error_occurred": True,
                        "error_message": "the line was refused",
                    }
                ]
            )

    def test_any_other_counter_is_a_row(self):
        self.assertEqual(self.rows(pods=7.0)["decode/mainspring/pods"]["value"], 7.0)


class Progress(unittest.TestCase):
    def test_every_benchmark_is_a_step(self):
        program = load()
        rows = [{"name": "a", "value": 1.0, "unit": "s", "at_least": 2}]
        said = io.StringIO()
        with (
            mock.patch.object(program, "build"),
            mock.patch.object(program, "measure", return_value=rows),
            mock.patch.object(Path, "write_text"),
            contextlib.redirect_stdout(said),
        ):
            program.main(["json", "http"])
        for step in (
            r"\[1/3 .*\] building release",
            r"\[2/3 .*\] json",
            r"\[3/3 .*\] http",
        ):
            self.assertRegex(said.getvalue(), step)
        self.assertIn("(bar: at least 2, missed)", said.getvalue())


if __name__ == "__main__":
    unittest.main()
