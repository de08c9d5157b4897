"""A test that fails once and then passes is named before ctest's verdict, and too many are a failure."""

import contextlib
import importlib.machinery
import importlib.util
import io
import sys
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev import failed_once  # noqa: E402
from msdev.console import Failure  # noqa: E402


def script(name: str):
    """A program of dev/ as a module."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(REPO / "dev" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class FailedOnce(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.addCleanup(setattr, failed_once, "FOLDER", failed_once.FOLDER)
        failed_once.FOLDER = self.root / "failed-once"

    def run_test(self, name: str, failures: int) -> int:
        """dev/run-test of a test that fails so many times before it passes."""
        counter = self.root / f"{name}.count"
        file = self.root / f"{name}.py"
        file.write_text(
            "import pathlib, sys\n"
            f"counter = pathlib.Path({str(counter)!r})\n"
            "past = len(counter.read_text()) if counter.exists() else 0\n"
            "counter.write_text('x' * (past + 1))\n"
            "print('attempt', past + 1)\n"
            f"sys.exit(past < {failures})\n"
        )
        program = script("run-test")
        self.addCleanup(setattr, sys, "argv", sys.argv)
        sys.argv = ["dev/run-test", str(file)]
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
            return program.main()

    def names(self) -> list[str]:
        return [log.stem.split(".")[-1] for log in failed_once.logs()]

    def test_only_those_that_passed_the_second_time_are_named(self):
        self.assertEqual(self.run_test("good", 0), 0)
        self.assertEqual(self.run_test("flaky", 1), 0)
        self.assertEqual(self.run_test("broken", 2), 1)
        self.assertEqual(self.names(), ["flaky"])
        self.assertEqual(failed_once.logs()[0].read_text(), "attempt 1\n")

    def test_more_than_are_allowed_are_a_failure(self):
        for number in range(failed_once.ALLOWED):
            self.run_test(f"test{number}", 1)
        failed_once.check()
        self.run_test("zebra", 1)
        with self.assertRaisesRegex(Failure, "(?s)6 tests failed once.*test0.*test1.*zebra"):
            failed_once.check()

    def test_they_stand_before_the_summary_which_stays_last(self):
        dev_test = script("test")
        # In the run itself: what an earlier run left is forgotten when one begins.
        log = failed_once.FOLDER / "real.x_test.log"
        text = f'add_test("x" "sh" "-c" "mkdir -p {log.parent}; touch {log.with_suffix(".again.log")}")'
        (self.root / "CTestTestfile.cmake").write_text(text + "\n")
        failed_once.log_of("real.earlier_test").with_suffix(".again.log").touch()
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(dev_test.run_ctest(self.root, []), 0)
        self.assertIn("1 tests failed once", said.getvalue())
        self.assertNotIn("earlier", said.getvalue())
        self.assertLess(said.getvalue().index(str(log)), said.getvalue().index("tests passed, "))


class Schedule(unittest.TestCase):
    def test_every_test_named_in_dev_test_exists(self):
        dev_test = script("test")
        there = {f"{f.parent.name}.{f.stem[:-5]}" for f in (REPO / "tests").glob("*/*_test.py")}
        self.assertEqual({dev_test.ALONE, *dev_test.LONG, *dev_test.LIGHT} - there, set())


if __name__ == "__main__":
    unittest.main()
