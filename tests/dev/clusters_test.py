"""What the tests with clusters rely on: that what they leave behind is seen."""

import re
import sys
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "tests" / "real"))

import clusters  # noqa: E402, F401  (it knows the way)
from msdev.cluster import registry  # noqa: E402

NAME = '"([a-z0-9-]+)"'
NAMED = re.compile(
    r"^ *(?:cluster|cluster_name|CLUSTER|NAME|names|ONE, TWO) = "
    rf'(?:\(|os\.environ\.get\("MAINSPRING_E2E_CLUSTER", )?({NAME}(?:, {NAME})*)',
    re.MULTILINE,
)


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
