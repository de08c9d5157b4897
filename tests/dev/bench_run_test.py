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
