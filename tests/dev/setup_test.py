"""What dev/setup says to who is not root, and to a machine that is off line. It runs on a list of
packages of its own, in a folder of its own; nothing is installed."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
IS_ROOT = os.geteuid() == 0
THERE = "bash"
MISSING = "mainspring-no-such-package"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
# apt keeps what it fetches in the folder of the test, and does not try again.
APT = """
Dir::State::lists "{root}/lists";
Dir::Cache "{root}/cache";
APT::Sandbox::User "root";
Acquire::Retries "0";
"""


class SetupTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        self.root.chmod(0o755)  # Whoever is not root must read it.
        (self.root / "dev").mkdir()
        for folder in ("lists/partial", "cache/archives/partial"):
            (self.root / folder).mkdir(parents=True)
        shutil.copy(REPO / "dev" / "setup", self.root / "dev" / "setup")

    def setup(self, how: list[str], package: str, *arguments: str) -> subprocess.CompletedProcess:
        (self.root / "dev" / "packages").write_text(f"{package}  # why it is needed\n")
        (self.root / "apt.conf").write_text(APT.format(root=self.root))
        return subprocess.run(
            [*how, self.root / "dev" / "setup", *arguments],
            env={**os.environ, "APT_CONFIG": str(self.root / "apt.conf"), "LC_ALL": "C"},
            capture_output=True,
            text=True,
            timeout=120,
        )

    def as_nobody(self, package: str, *arguments: str) -> subprocess.CompletedProcess:
        return self.setup(NOBODY if IS_ROOT else [], package, *arguments)

    def off_line(self, package: str) -> subprocess.CompletedProcess:
        """As root, in a network with nobody in it."""
        alone = ["unshare", "--net"] if IS_ROOT else ["unshare", "--net", "--map-root-user"]
        return self.setup(alone, package, "--packages-only")

    def test_who_is_not_root_is_told_what_is_missing_and_what_to_do(self):
        done = self.as_nobody(MISSING, "--packages-only")
        self.assertEqual(done.returncode, 1)
        self.assertIn("only root can install them", done.stderr)
        self.assertIn(f"\n{MISSING}\n", done.stderr)
        self.assertIn("sudo dev/setup", done.stderr)
        self.assertFalse((self.root / "build").exists(), "nothing was begun")

    def test_who_is_not_root_can_compile_where_nothing_is_missing(self):
        done = self.as_nobody(THERE, "--packages-only")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("all 1 Debian packages are installed", done.stdout)

    def test_who_is_not_root_has_no_cluster(self):
        done = self.as_nobody(THERE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the local cluster needs root", done.stderr)

    def test_off_line_it_says_so_and_which_log_to_read(self):
        done = self.off_line(MISSING)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is this machine off line?", done.stderr)
        self.assertIn("Read build/log/setup-packages.log", done.stderr)
        log = (self.root / "build" / "log" / "setup-packages.log").read_text()
        self.assertRegex(log, "(?i)resolv|connect")
        self.assertIn(log.splitlines()[-1], done.stderr)

    def test_off_line_it_has_nothing_to_do_where_nothing_is_missing(self):
        done = self.off_line(THERE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
