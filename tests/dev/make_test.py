"""The front door opens on a machine that has make and nothing else of ours: not even Python."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
PRETENDED = '#!/bin/sh\necho "$(basename "$0") $*" >> calls\n'


class MakeTest(unittest.TestCase):
    def calls(self, target: str) -> list[str]:
        """What `make` starts for it, in this order; none of it does anything."""
        root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        shutil.copy(REPO / "Makefile", root)
        for folder in ("dev", "bench"):
            (root / folder).mkdir()
            for file in (REPO / folder).iterdir():
                if file.is_file() and os.access(file, os.X_OK):
                    (root / folder / file.name).write_text(PRETENDED)
                    (root / folder / file.name).chmod(0o755)
        subprocess.run(["make", "--silent", target], cwd=root, check=True, capture_output=True)
        return (root / "calls").read_text().splitlines()

    def test_packages_are_there_before_the_first_program_in_python_runs(self):
        for target in ("up", "test", "build", "lint", "format"):
            with self.subTest(target):
                first, second = self.calls(target)
                self.assertEqual(first, "setup --packages-only")
                self.assertNotIn("setup", second)


if __name__ == "__main__":
    unittest.main()
