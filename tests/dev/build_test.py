"""What `make build` shows: numbered steps that name the log, and the end of it when a step fails."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
PRETENDED = """#!/bin/sh
echo "cmake $*"
case "$*" in *{failing}*) exit 3 ;; esac
"""


class BuildTest(unittest.TestCase):
    def build(self, failing: str) -> subprocess.CompletedProcess:
        """With a cmake that does nothing, or fails where its arguments have this word; in a folder of
        its own, so that the logs of the project stay."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = Path(folder.name)
        (root / "cmake").write_text(PRETENDED.format(failing=failing))
        (root / "cmake").chmod(0o755)
        (root / "dev" / "lib").mkdir(parents=True)
        (root / "dev" / "build").write_bytes((REPO / "dev" / "build").read_bytes())
        msdev = root / "dev" / "lib" / "msdev"
        msdev.mkdir()
        for file in (REPO / "dev" / "lib" / "msdev").glob("*.py"):
            (msdev / file.name).write_bytes(file.read_bytes())
        return subprocess.run(
            ["/usr/bin/python3", root / "dev" / "build"],
            env={**os.environ, "PATH": f"{root}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
        )

    def test_it_shows_steps_and_the_log(self):
        done = self.build(failing="nothing")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\[1/2 .*s\] .*\(log: build/log/build-release.log\)")
        self.assertRegex(done.stdout, r"\[2/2 .*s\] ")
        self.assertRegex(done.stdout, r"\[done .*s\] ")

    def test_a_failure_says_which_log_to_read_and_how_it_ends(self):
        done = self.build(failing="--build")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"Read .*/build/log/build-release.log")
        self.assertIn("cmake --build --preset release --target all", done.stderr)
        self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
