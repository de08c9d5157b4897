"""The linter's verdict against what a real slurmctld, slurmdbd and slurmd do when started on the same files.

A corpus in tests/data/slurm/conf (good, bad, and two folders of deliberate differences with their
reasons) and random changes of good files. Each daemon runs in namespaces of its own: network,
mounts and processes; nothing leaves them.
"""

import json
import os
import random
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev import slurm  # noqa: E402
from msdev.sandbox import Sandbox  # noqa: E402

CORPUS = REPO / "tests" / "data" / "slurm" / "conf"
LINTER = REPO / "build" / "debug" / "tests" / "slurm_lint"
SEED, GENERATED = 20260516, 220
PATIENCE = 20.0  # For one daemon, on a busy machine.

# Where the linter is stricter on purpose: the key and the message of its finding, and why.
STRICTER = (
    ("", "control character", "nobody sees it, and what follows a NUL is lost"),
    ("NodeName|Nodes|NodeAddr|NodeHostname", "is no hostlist", "Slurm guesses at half of them"),
    ("SlurmctldPort", "is no port", "Slurm drops the upper bits of the number"),
    ("TaskPlugin|ProctrackType", "has no plugin", "slurmd does not start"),
    ("CgroupPlugin", "", "slurmd does not start"),
    ("StateSaveLocation", "not an absolute path", "it depends on where slurmctld is started"),
    ("Include", "beyond the end", "what Slurm reads there is chance"),
    ("", "comes twice", "in YAML that is an error; Slurm takes one of the two"),
    ("block|switch|ring", "each needs a name", "no log and no node could name it"),
    ("topology|block|switch|ring", "is no name", "it would be two, or none, where it is used"),
    (".*", "a quote", "a value was cut where its writer did not mean it"),
)
# What slurmctld stops at that no file can tell: the machine it runs on.
MACHINE = (
    "not a valid controller|Invalid user for|mkdir\\(|PluginDir: |cannot stat|prep/script|"
    "Unable to resolve|chdir\\(|Failed to stat|Permission denied|failed to initialize auth plugin|"
    "Incorrect permissions|is not a valid cgroup2 mountpoint"
)
# Files that slurmd does not open, so that it cannot stop at them.
NOT_OPENED = ("strict/gres_conf_unused",)

_PREPARE = """
mkdir -p etc/slurm run/slurm run/slurmctld run/slurmdbd var/spool/slurmctld var/spool/slurmd
cp mnt/hosts etc/hosts
printf 'passwd: files\\ngroup: files\\nshadow: files\\nhosts: files\\n' >etc/nsswitch.conf
"""
# In the case's own namespaces. $1 is its folder, $2 the daemon, which is not the first process: that
# one must stay root, or it does not hear when the outer one ends, and nothing would end the daemon.
_START = """
mount --bind "$1" /etc/slurm
for folder in /var/spool/slurmctld /run/slurmctld /run/slurmdbd; do
    mount -t tmpfs -o mode=755,uid=401,gid=401 tmpfs $folder
done
case "$2" in
slurmd) mount -t tmpfs tmpfs /var/spool/slurmd && slurmd -D -N n1 ;;
*) setpriv --reuid slurm --regid slurm --init-groups "/usr/sbin/$2" -D ;;
esac
exit $?
"""
# An address beside 127.0.0.1: names do not resolve on a machine that has no other.
_NETWORK = 'ip link set lo up; ip addr add 192.0.2.1/32 dev lo; exec "$@"'


def parts(text: str) -> dict[str, str]:
    """The files of a case: each begins with a line "==> name <==", the text before it is ours."""
    pieces = re.split(r"^==> (.*) <==\n", text, flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2]))


def corpus(kind: str) -> dict[str, dict[str, str]]:
    paths = sorted((CORPUS / kind).glob("*.case"))
    return {f"{kind}/{path.stem}": parts(path.read_text()) for path in paths}


class Daemons:
    """Starts daemons on files and tells whether they stay."""

    def __init__(self, folder: Path):
        self.folder = folder
        (folder / "files" / "cases").mkdir(parents=True)
        (folder / "files" / "prepare").write_text(_PREPARE)
        names = [f"n{i}" for i in range(40)] + [f"n{i}-x" for i in range(40)]
        names += [f"{i}" for i in range(1, 5)] + ["controller", "localhost"]
        (folder / "files" / "hosts").write_text(f"127.0.0.1 {' '.join(names)}\n")
        self.key = secrets.token_bytes(1024)
        self.sandbox = Sandbox(folder)
        self.sandbox.start(slurm.root_file_system("26.05"), "controller")
        self.count = 0
        self.lock = threading.Lock()

    def folder_of(self, files: dict[str, str]) -> Path:
        with self.lock:
            self.count += 1
            folder = self.folder / "files" / "cases" / str(self.count)
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
        secret = folder / "slurm.key"
        secret.touch(mode=0o600)
        secret.write_bytes(self.key)
        for path in (secret, *folder.glob("slurmdbd.conf")):
            path.chmod(0o600)
            shutil.chown(path, slurm.SLURM_UID, slurm.SLURM_UID)
        return folder

    def stops(self, folder: Path, daemon: str = "") -> tuple[bool, str]:
        """Whether the daemon gave up, and its log. Which it is, the files say where nobody does."""
        dbd = (folder / "slurmdbd.conf").exists() and not (folder / "slurm.conf").exists()
        inside = ["sh", "-c", _START, "sh", f"/mnt/cases/{folder.name}"]
        inside.append(daemon or ("slurmdbd" if dbd else "slurmctld"))
        # Entering the sandbox forks: what is inside must end when we end the outermost process.
        spaces = ["setpriv", "--pdeathsig", "KILL"]
        spaces += ["unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc"]
        command = self.sandbox.command([*spaces, *inside])
        log = folder / ".log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                ["unshare", "-n", "sh", "-c", _NETWORK, "sh", *command],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
            )  # fmt: skip
        try:
            return self._watch(process, log)
        finally:
            process.kill()
            process.wait()

    @staticmethod
    def _watch(process: subprocess.Popen, log: Path) -> tuple[bool, str]:
        # slurmdbd has read its files when it looks for the database. slurmctld loads a few more
        # plugins after it says that it is running.
        running = re.compile(
            "Running as primary controller|mysql_real_connect failed|CONN|slurmd started on"
        )
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            gone = process.poll() is not None
            text = log.read_text(errors="replace")
            if gone or "retrying in 1sec up to 60sec" in text:
                return True, text
            if running.search(text):
                time.sleep(0.15)
                return process.poll() is not None, log.read_text(errors="replace")
            time.sleep(0.02)
        raise AssertionError(f"neither up nor gone after {PATIENCE} s: {text}")


class Mutations:
    """Good files with a few random changes, always the same for a seed."""

    VALUES = ("", "0", "-1", "1", "65536", "99999999999", "abc", "YES", "n[1-4]", "n[1-9]", "n[4-1]",
              "n[1", "ALL", "INFINITE", '"a b"', '"a', "a#b", "a\\#b", "UP", "1-2:3", "cpu=1", "0x1f",
              "sched/backfill", "select/linear", "task/none", "topology/flat", "CR_Core", "1k")  # fmt: skip
    LINES = ("KillWait=5", "FooBar=1", "hello", "UsePAM=1", "MaxTime=5", "NodeName=n7 NodeAddr=127.0.0.1",
             "PartitionName=more Nodes=n1,n2", "PartitionName=more Nodes=n17", "NodeSet=ns Feature=a",
             "NodeSet=n2 Nodes=n1", "DownNodes=n1 State=DOWN Reason=x", "GresTypes=gpu", "# comment \\",
             "ReturnToService=2", "PreemptMode=REQUEUE", "SelectTypeParameters=CR_Core_Memory",
             "MaxNodeCount=100", "NodeName=DEFAULT CPUs=2", "PartitionName=DEFAULT MaxTime=1:00:00")  # fmt: skip

    def __init__(self, seed: int, bases: list[dict[str, str]]):
        self.random = random.Random(seed)
        self.bases = bases

    def case(self) -> dict[str, str]:
        files = dict(self.random.choice(self.bases))
        for _ in range(self.random.randint(1, 3)):
            name = self.random.choice([n for n in files if not n.endswith(".yaml")])
            lines = files[name].splitlines()
            self.random.choice(
                (self.drop, self.double, self.insert, self.value, self.key, self.cut)
            )(lines)
            files[name] = "\n".join(lines) + "\n"
        # Nodes that nobody talks to: slurmctld would look for the names of others for many seconds.
        files["slurm.conf"] = "NodeName=DEFAULT State=EXTERNAL\n" + files["slurm.conf"]
        return files

    def at(self, lines: list[str]) -> int:
        return self.random.randrange(len(lines)) if lines else 0

    def drop(self, lines):
        # Without these the machine decides, not the files.
        if lines and not re.match(
            "(Auth|Cred|Slurm|State|Proc)", line := lines[at := self.at(lines)]
        ):
            lines.pop(at)
            return line

    def double(self, lines):
        if lines:
            lines.insert(self.at(lines), lines[self.at(lines)])

    def insert(self, lines):
        lines.insert(self.at(lines), self.random.choice(self.LINES))

    def value(self, lines):
        pairs = [
            (i, m)
            for i, line in enumerate(lines)
            for m in re.finditer(r"(\w+)=(\S+)", line)
            if not re.match("Auth|Cred|SlurmUser|State(Save)|SlurmctldHost|.*PidFile", m[1])
        ]
        if pairs:
            i, match = self.random.choice(pairs)
            new = self.random.choice(self.VALUES)
            lines[i] = lines[i][: match.start(2)] + new + lines[i][match.end(2) :]

    def key(self, lines):
        at = self.at(lines)
        if lines and re.match(r"\w{4,}=", lines[at]) and not re.match("Auth|Slurm", lines[at]):
            place = self.random.randrange(1, lines[at].index("="))
            lines[at] = lines[at][:place] + lines[at][place + 1 :]

    def cut(self, lines):
        at = self.at(lines)
        if lines and not re.match("Auth|Cred|Slurm|State", lines[at]) and len(lines[at]) > 2:
            lines[at] = lines[at][: self.random.randrange(1, len(lines[at]))]


class TopologyMutations:
    """Good files of which topology.yaml has a few random changes."""

    VALUES = ("", "n[1-4]", "n[1-2]", "n9", "n[1", "s1", "s[1-2]", "b1", "root", "5", "[2, 4]", "[3]", "[0]",
              "[4, 6]", "[a]", "true", "false", "null", "{}", "[]")  # fmt: skip

    def __init__(self, seed: int, bases: list[dict[str, str]]):
        self.random = random.Random(seed)
        self.bases = [files for files in bases if "topology.yaml" in files]

    def case(self) -> dict[str, str]:
        files = dict(self.random.choice(self.bases))
        lines = files["topology.yaml"].splitlines()
        for _ in range(self.random.randint(1, 2)):
            self.change(lines)
        files["topology.yaml"] = "\n".join(lines) + "\n"
        return files

    def change(self, lines: list[str]) -> None:
        at = self.random.randrange(len(lines))
        how = self.random.randrange(4)
        if how == 0 and len(lines) > 1:
            lines.pop(at)
        elif how == 1:
            lines.insert(at, lines[self.random.randrange(len(lines))])
        elif match := re.fullmatch(r"([ -]*)(\w+):(.*)", lines[at]):
            start, key, value = match.groups()
            if how == 2:
                value = f" {self.random.choice(self.VALUES)}"
            else:
                place = self.random.randrange(len(key))
                key = key[:place] + key[place + 1 :]
            lines[at] = f"{start}{key}:{value}"


@unittest.skipUnless(os.geteuid() == 0, "namespaces need root")
class SlurmLintTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory(prefix="test-slurm-lint-")
        cls.daemons = Daemons(Path(cls.place.name) / "box")

    @classmethod
    def tearDownClass(cls):
        cls.daemons.sandbox.stop()
        cls.place.cleanup()

    def verdicts(self, cases: dict[str, dict[str, str]], daemon: str = ""):
        """For each case: its name, the linter's findings, whether the daemon stopped, its log."""
        folders = [self.daemons.folder_of(files) for files in cases.values()]
        for folder in folders:
            (folder / "slurm.key").rename(folder / ".slurm.key")
        said = subprocess.run([LINTER, *folders], capture_output=True, text=True, check=True)
        findings = [json.loads(line) for line in said.stdout.splitlines()]
        for folder in folders:
            (folder / ".slurm.key").rename(folder / "slurm.key")
        with ThreadPoolExecutor(3) as pool:
            outcomes = list(pool.map(lambda one: self.daemons.stops(one, daemon), folders))
        return [(n, f, *o) for n, f, o in zip(cases, findings, outcomes, strict=True)]

    def check(self, kind: str, refused: bool, stopped: bool) -> None:
        cases = corpus(kind)
        self.assertGreater(len(cases), 4)
        for name, findings, stops, log in self.verdicts(cases):
            with self.subTest(name):
                errors = [f for f in findings if f["severity"] == "error"]
                self.assertEqual(bool(errors), refused, f"{findings}\n{log}")
                self.assertEqual(stops, stopped, f"{findings}\n{log}")

    def test_good_files_pass_and_start(self):
        self.check("good", refused=False, stopped=False)

    def test_bad_files_are_refused_and_stop_the_daemon(self):
        self.check("bad", refused=True, stopped=True)

    def test_the_linter_is_stricter_where_it_is_meant_to_be(self):
        self.check("strict", refused=True, stopped=False)

    def test_what_only_the_machine_can_tell_is_not_refused(self):
        self.check("machine", refused=False, stopped=True)

    def test_random_changes_get_the_same_verdict(self):
        bases = [files for files in corpus("good").values() if "slurm.conf" in files]
        self.compare(Mutations(SEED, bases), GENERATED)

    def test_random_changes_of_a_topology_get_the_same_verdict(self):
        self.compare(TopologyMutations(SEED, list(corpus("good").values())), GENERATED // 2)

    def compare(self, mutations, count: int) -> None:
        cases = {f"random {i}": mutations.case() for i in range(count)}
        refused = 0
        for name, findings, stops, log in self.verdicts(cases):
            errors = [f for f in findings if f["severity"] == "error"]
            refused += bool(errors)
            if bool(errors) == stops:
                continue
            with self.subTest(name):
                if stops:
                    self.assertRegex(log, MACHINE, f"passed, but:\n{log}\n{cases[name]}")
                else:
                    unexplained = [f for f in errors if not self.is_stricter(f)]
                    self.assertEqual(unexplained, [], f"slurmctld starts:\n{cases[name]}")
        # Cases that all fail, or all pass, would compare nothing.
        self.assertTrue(count // 5 < refused < count * 4 // 5, refused)

    def test_slurmd_judges_its_own_files_alike(self):
        """gres.conf and cgroup.conf are slurmd's: it reads also what slurmctld does not look at."""
        cases = {
            name: files
            for kind in ("good", "bad", "strict")
            for name, files in corpus(kind).items()
            if "gres.conf" in files or "/cgroup" in name
        }
        self.assertGreater(len(cases), 10)
        for name, findings, stops, log in self.verdicts(cases, "slurmd"):
            with self.subTest(name):
                refused = any(f["severity"] == "error" for f in findings)
                by_machine = stops and re.search(MACHINE, log) is not None
                self.assertEqual(refused, name in NOT_OPENED or (stops and not by_machine), log)

    @staticmethod
    def is_stricter(finding: dict) -> bool:
        # gres.conf is read by slurmd, not by this slurmctld.
        return finding["file"] == "gres.conf" or any(
            re.fullmatch(key, finding["key"]) and message in finding["message"]
            for key, message, _why in STRICTER
        )


if __name__ == "__main__":
    unittest.main()
