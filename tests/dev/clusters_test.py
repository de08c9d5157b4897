"""What the tests with clusters rely on: that a command was killed where they say so, and that what they
leave behind is seen. With a dev/cluster that pretends."""

import re
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "tests" / "real"))

import clusters  # noqa: E402
from msdev.cluster import registry  # noqa: E402

NAME = '"([a-z0-9-]+)"'
NAMED = re.compile(
    r"^ *(?:cluster|cluster_name|CLUSTER|NAME|names|ONE, TWO) = "
    rf'(?:\(|os\.environ\.get\("MAINSPRING_E2E_CLUSTER", )?({NAME}(?:, {NAME})*)',
    re.MULTILINE,
)


class KilledTest(unittest.TestCase):
    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.mark = self.root / "mark"

    def pretend(self, script: str) -> None:
        program = self.root / "cluster"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        self.enterContext(mock.patch.object(clusters, "CLUSTER", program))

    def killed_up(self, then=0.0) -> None:
        clusters.killed_up("test-x", "up", step="network", then=then)

    def killed_down(self, slowly: float = 0.0) -> None:
        """Looks for its mark, and takes so long to see it."""
        is_there = lambda: self.mark.exists() and not time.sleep(slowly)  # noqa: E731
        clusters.killed_down("test-x", is_there, "there is a mark")

    def test_an_up_is_killed_at_its_step(self):
        self.pretend("echo '[1/3] network'\nexec sleep 600")
        self.killed_up()
        self.killed_up(then=0.1)

    def test_or_after_it_when_something_is_so(self):
        self.pretend(f"echo '[1/3] network'\nsleep 0.2\ntouch {self.mark}\nexec sleep 600")
        self.killed_up(then=self.mark.exists)
        self.assertTrue(self.mark.exists())

    def test_an_up_that_never_comes_to_the_step_is_a_failure(self):
        self.pretend("echo '[1/3] certificates'")
        with self.assertRaisesRegex(AssertionError, "did not announce 'network'"):
            self.killed_up()

    def test_an_up_that_ends_before_it_is_killed_is_a_failure(self):
        self.pretend("echo '[1/3] network'")
        for then in (1.0, self.mark.exists):
            with self.assertRaisesRegex(AssertionError, "was not killed after 'network'"):
                self.killed_up(then)

    def test_a_down_is_killed_when_it_has_had_its_effect(self):
        self.pretend(f"touch {self.mark}\nexec sleep 600")
        self.killed_down()

    def test_a_down_that_ends_without_it_is_a_failure(self):
        self.pretend("true")
        with self.assertRaisesRegex(AssertionError, "not killed when this was so: there is a mark"):
            self.killed_down()

    def test_a_down_that_ends_with_it_is_a_failure(self):
        self.pretend(f"touch {self.mark}")
        with self.assertRaisesRegex(AssertionError, "not killed"):
            self.killed_down(slowly=1.0)

    def test_an_effect_that_was_there_before_is_none(self):
        self.mark.touch()
        self.pretend("exec sleep 600")
        with self.assertRaisesRegex(AssertionError, "before 'down' already"):
            self.killed_down()


class NamesTest(unittest.TestCase):
    def test_a_cluster_of_the_tests_is_called_test_and_is_nobody_elses(self):
        """By that it is known whose it is when something is left."""
        files = [f for kind in ("real", "e2e") for f in (REPO / "tests" / kind).glob("*.py")]
        said = [match[1] for file in files for match in NAMED.finditer(file.read_text())]
        found = [name for names in said for name in re.findall(NAME, names)]
        self.assertGreater(len(found), 30)
        for name in found:
            self.assertRegex(name, "^test-")
            self.assertRegex(name, f"^{registry.NAME.pattern}$")
        self.assertEqual(len(found), len(set(found)), "two tests with clusters of the same name")


if __name__ == "__main__":
    unittest.main()
