"""A machine without Go, or with one that is too old, builds with Debian testing's.

Takes the real package and builds the smallest of the modules with it.
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev import golang  # noqa: E402

MODULE = REPO / "dev" / "pod"


class GolangTest(unittest.TestCase):
    def have(self, version: str | None) -> Path | None:
        """The machine's own Go is of this version for now."""
        go = None
        if version:
            go = Path(self.enterContext(tempfile.TemporaryDirectory())) / "go"
            go.write_text(f"#!/bin/sh\necho go{version}\n")
            go.chmod(0o755)
        own = go and str(go)
        self.enterContext(mock.patch.object(golang.shutil, "which", return_value=own))
        return go

    def test_without_go_everything_is_built_with_debians(self):
        self.have(None)
        go = golang.go_for(MODULE)
        self.assertIn("debian-golang", go.parts)
        self.assertTrue(os.access(golang.build("pod"), os.X_OK))
        gofmt = golang.formatter([MODULE / "main.go"])
        listed = subprocess.run(
            [gofmt, "-l", MODULE], check=True, capture_output=True, text=True
        ).stdout
        self.assertEqual(listed, "")

    def test_a_go_that_is_too_old_is_left_alone(self):
        self.have("1.20.1")
        self.assertIn("debian-golang", golang.go_for(MODULE).parts)

    def test_a_go_that_is_new_enough_is_taken(self):
        go = self.have("1.99.0")
        self.assertEqual(golang.go_for(MODULE), go)


if __name__ == "__main__":
    unittest.main()
