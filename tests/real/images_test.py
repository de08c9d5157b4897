"""The images that images/build makes: sound archives, the agreed configuration, entrypoints that work."""

import functools
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev import images, oci  # noqa: E402

OUTPUT = REPO / "build" / "images"
TINI = ["/usr/bin/tini", "-g", "--"]
ENTRYPOINT = [*TINI, "/usr/local/sbin/entrypoint"]
NAMES = ["slurmctld", "slurmd", "slurmdbd", "slurmrestd", "login", "mariadb"]
HARDWARE = "NodeName=n CPUs=16 Boards=1 SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=64000"

# Stands in for a daemon: says how it was called, and describes a machine if asked.
FAKE = f"""#!/bin/sh
[ "$1" != -C ] || exec echo "{HARDWARE}"
echo "$0 as $(id -u)"
for arg; do echo "<$arg>"; done
"""

# Inside a mount namespace, so that nothing stays mounted. $1: the files; $2: what lies over them.
ENTER = """
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
cd "$2/root"
shift 2
mount -t proc proc proc
mount --rbind /dev dev
exec chroot . "$@"
"""


def build(*names, **env) -> str:
    done = subprocess.run(
        [REPO / "images" / "build", *names],
        capture_output=True,
        text=True,
        timeout=1800,
        env=os.environ | env,
    )
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return done.stdout


def setUpModule():
    build("slurm", "mariadb")


def tearDownModule():
    root.cache_clear()
    shutil.rmtree(scratch(), ignore_errors=True)


@functools.cache
def scratch() -> Path:
    return Path(tempfile.mkdtemp(prefix="mainspring-images-"))


@functools.cache
def root(name: str) -> Path:
    """The image's files, unpacked once for all tests."""
    folder = scratch() / name
    oci.Image(OUTPUT / f"{name}.tar").unpack(folder)
    return folder


class Container:
    """An image's files, and over them a folder for what a test changes."""

    def __init__(self, name: str):
        self.lower = root(name)
        self.folder = Path(tempfile.mkdtemp(dir=scratch()))
        for part in ("upper", "work", "root"):
            (self.folder / part).mkdir()

    def path(self, name: str) -> Path:
        """Of a file that was changed or made."""
        return self.folder / "upper" / name

    def replace(self, name: str, text: str = FAKE) -> "Container":
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(text)
        self.path(name).chmod(0o755)
        return self

    def start(self, *argv, env: dict | None = None) -> subprocess.Popen:
        """Runs a command as root in namespaces that end with it."""
        line = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", ENTER]
        return subprocess.Popen(
            [*line, "enter", self.lower, self.folder, *argv],
            env={"PATH": "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"} | (env or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def output(self, *argv, env: dict | None = None) -> str:
        child = self.start(*argv, env=env)
        said, _ = child.communicate(timeout=120)
        if child.returncode != 0:
            raise AssertionError(f"{argv} ended with {child.returncode}: {said}")
        return said


class ArchiveTest(unittest.TestCase):
    def test_every_blob_is_what_its_name_says(self):
        for name in [*NAMES, "slurm"]:
            with self.subTest(name), tarfile.open(OUTPUT / f"{name}.tar") as archive:
                members = archive.getnames()
                self.assertEqual(len(members), len(set(members)))
                self.assertEqual(
                    json.load(archive.extractfile("oci-layout")), {"imageLayoutVersion": "1.0.0"}
                )
                for member in members:
                    if member.startswith("blobs/sha256/"):
                        file = archive.extractfile(member)
                        found = hashlib.file_digest(file, "sha256").hexdigest()
                        self.assertEqual(member, f"blobs/sha256/{found}")
                for entry in json.load(archive.extractfile("index.json"))["manifests"]:
                    self.check_manifest(archive, entry["digest"])

    def check_manifest(self, archive: tarfile.TarFile, digest: str) -> None:
        manifest = json.load(archive.extractfile("blobs/" + digest.replace(":", "/")))
        for part in [manifest["config"], *manifest["layers"]]:
            member = archive.getmember("blobs/" + part["digest"].replace(":", "/"))
            self.assertEqual(member.size, part["size"])

    def test_names_users_ports_and_entrypoints(self):
        for name, user, ports, entrypoint in (
            ("slurmctld", "401:401", {"6817/tcp"}, ENTRYPOINT),
            ("slurmd", "", {"6818/tcp", "22/tcp"}, ENTRYPOINT),
            ("slurmdbd", "401:401", {"6819/tcp"}, [*TINI, "/usr/sbin/slurmdbd", "-D"]),
            ("slurmrestd", "65534:65534", {"6820/tcp"}, [*TINI, "/usr/sbin/slurmrestd"]),
            ("login", "", {"22/tcp"}, ENTRYPOINT),
            ("mariadb", "402:402", {"3306/tcp"}, ENTRYPOINT),
        ):
            with self.subTest(name):
                image = oci.Image(OUTPUT / f"{name}.tar")
                config = image.config["config"]
                self.assertEqual(image.name, f"localhost/mainspring/{name}:26.05")
                self.assertEqual(config.get("User", ""), user)
                self.assertEqual(set(config["ExposedPorts"]), ports)
                self.assertEqual(config["Entrypoint"], entrypoint)

    def test_slurm_images_share_their_layers(self):
        layers = [oci.Image(OUTPUT / f"{name}.tar").layers for name in images.SLURM]
        self.assertEqual(len({tuple(each[:2]) for each in layers}), 1)
        with tarfile.open(OUTPUT / "slurm.tar") as archive:
            index = json.load(archive.extractfile("index.json"))
        names = [entry["annotations"]["io.containerd.image.name"] for entry in index["manifests"]]
        self.assertEqual(names, [images.spec(name).full_name for name in images.SLURM])

    def test_nothing_is_built_twice(self):
        before = {name: (OUTPUT / f"{name}.tar").stat() for name in NAMES}
        build("slurm", "mariadb")
        for name, known in before.items():
            now = (OUTPUT / f"{name}.tar").stat()
            self.assertEqual((now.st_ino, now.st_mtime_ns), (known.st_ino, known.st_mtime_ns))

    def test_a_changed_file_makes_a_new_image_of_it_and_of_what_is_built_on_it(self):
        def keys() -> dict[str, str]:
            images.spec.cache_clear()
            return {
                name: images.spec(name).key for name in ("base", "shell", "slurmd", "slurmctld")
            }

        before = keys()
        with tempfile.TemporaryDirectory() as copy:
            shutil.copytree(REPO / "images", copy, dirs_exist_ok=True)
            with mock.patch.object(images, "IMAGES", Path(copy)):
                self.assertEqual(keys(), before)
                with open(Path(copy, "shell", "services.sh"), "a") as services:
                    services.write("# changed\n")
                after = keys()
        images.spec.cache_clear()
        changed = {name for name in before if before[name] != after[name]}
        self.assertEqual(changed, {"shell", "slurmd"})

    def test_slurm_is_26_05_and_its_user_is_401(self):
        for name in images.SLURM:
            with self.subTest(name):
                package = "sackd" if name == "login" else name
                container = Container(name)
                version = container.output("dpkg-query", "-W", "-f", "${Version}", package)
                self.assertTrue(version.startswith("26.05."), version)
                self.assertIn("uid=401(slurm) gid=401(slurm)", container.output("id", "slurm"))

    def test_no_image_carries_a_host_key_or_package_lists(self):
        for name in ("slurmd", "login"):
            self.assertEqual(list((root(name) / "etc/ssh").glob("ssh_host_*")), [])
            lists = root(name) / "var/lib/apt/lists"
            self.assertEqual([p for p in lists.glob("*_Packages*")] if lists.exists() else [], [])


class EntrypointTest(unittest.TestCase):
    def slurmd(self, *arguments, **env) -> list[str]:
        """The arguments that slurmd is started with."""
        container = Container("slurmd").replace("usr/sbin/slurmd")
        said = container.output(*ENTRYPOINT, *arguments, env=env)
        return re.findall("^<(.*)>$", said, re.MULTILINE)

    def test_slurmd_gets_its_arguments_unchanged(self):
        self.assertEqual(
            self.slurmd("-Z", "--conf-server", "here:6817", "it's one"),
            ["-D", "-Z", "--conf-server", "here:6817", "it's one"],
        )

    def test_options_from_the_environment_are_shell_text(self):
        self.assertEqual(
            self.slurmd("-Z", SLURMD_OPTIONS="-N 'a b' -vv"), ["-D", "-Z", "-N", "a b", "-vv"]
        )

    def test_cores_beyond_the_limit_of_the_pod_are_kept_from_jobs(self):
        # 8 cores of 2 threads; 4 CPUs are 2 cores.
        self.assertEqual(self.slurmd(POD_CPUS="4"), ["-D", "--conf", "CoreSpecCount=6"])

    def test_a_pod_smaller_than_a_core_has_one(self):
        self.assertEqual(self.slurmd(POD_CPUS="1"), ["-D", "--conf", "CoreSpecCount=7"])

    def test_a_pod_without_limits_has_the_whole_machine(self):
        self.assertEqual(self.slurmd(POD_CPUS="0", POD_MEMORY="0", POD_TOPOLOGY=""), ["-D"])

    def test_a_pod_as_large_as_the_machine_reserves_nothing(self):
        self.assertEqual(self.slurmd(POD_CPUS="16", POD_MEMORY="64000"), ["-D"])

    def test_memory_beyond_the_limit_is_kept_from_jobs(self):
        self.assertEqual(self.slurmd(POD_MEMORY="4000"), ["-D", "--conf", "MemSpecLimit=60000"])

    def test_everything_about_the_node_is_one_conf(self):
        self.assertEqual(
            self.slurmd(
                "-Z",
                "--conf",
                "Features=a",
                "-v",
                SLURMD_OPTIONS="--conf='Weight=3  Gres=gpu:2'",
                POD_CPUS="4",
                POD_MEMORY="4000",
                POD_TOPOLOGY="default:s1",
            ),
            ["-D", "-Z", "-v", "--conf"]
            + [
                "Features=a Weight=3 Gres=gpu:2 CoreSpecCount=6 MemSpecLimit=60000 Topology=default:s1"
            ],
        )

    def test_what_the_user_defined_wins(self):
        conf = "cpus=2 RealMemory=1000 Topology=t"
        self.assertEqual(
            self.slurmd("--conf", conf, POD_CPUS="4", POD_MEMORY="40", POD_TOPOLOGY="other"),
            ["-D", "--conf", conf],
        )

    def test_an_operator_may_leave_a_variable_to_be_filled_in(self):
        argument = "'Features=a Topology='\"$SLINKY_TOPOLOGY\"''"
        filled = self.slurmd("--conf", argument, SLINKY_TOPOLOGY="default:s1:b2")
        self.assertEqual(filled, ["-D", "--conf", "Features=a Topology=default:s1:b2"])

    def test_a_topology_that_is_not_known_yet_is_left_out(self):
        argument = "'Features=a Topology='\"$SLINKY_TOPOLOGY\"''"
        filled = self.slurmd("--conf", argument, SLINKY_TOPOLOGY="")
        self.assertEqual(filled, ["-D", "--conf", "Features=a"])

    def test_sshd_runs_beside_slurmd_for_those_with_jobs(self):
        container = Container("slurmd")
        container.replace("usr/sbin/sshd", '#!/bin/sh\necho sshd "$@"; sleep 60\n')
        container.replace("usr/sbin/slurmd", "#!/bin/sh\nsleep 1\n")
        env = {"SSHD_OPTIONS": "-p 2222", "PAM_SLURM_ADOPT_OPTIONS": "action_no_jobs=ignore"}
        for _ in range(2):  # A restarted container finds its own changes.
            said = container.output(*ENTRYPOINT, env=env)
            self.assertIn("sshd -D -e -p 2222\n", said)
        rules = container.path("etc/pam.d/sshd").read_text()
        self.assertEqual(
            rules.count("pam_slurm_adopt.so action_no_jobs=ignore\n@include common-account"), 1
        )
        self.assertEqual(rules.count("pam_slurm_adopt"), 1)
        self.assertTrue(container.path("etc/ssh/ssh_host_ed25519_key").exists())

    def test_workers_have_no_sshd_unless_asked(self):
        container = Container("slurmd").replace("usr/sbin/slurmd").replace("usr/sbin/sshd")
        said = container.output(*ENTRYPOINT)
        self.assertNotIn("sshd", said)

    def test_a_signal_reaches_the_daemon_and_ends_everything(self):
        container = Container("slurmd")
        container.replace("usr/sbin/sshd", "#!/bin/sh\nsleep 60\n")
        container.replace(
            "usr/sbin/slurmd",
            "#!/bin/sh\ntrap 'echo ended well; exit 7' TERM\necho started\nsleep 60 & wait\n",
        )
        child = container.start(*ENTRYPOINT, env={"SSHD_OPTIONS": ""})
        while child.stdout.readline() != "started\n":
            self.assertIsNone(child.poll())
        time.sleep(0.1)
        (tini,) = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
        os.kill(int(tini), signal.SIGTERM)
        said, _ = child.communicate(timeout=30)
        self.assertIn("ended well", said)
        self.assertEqual(child.returncode, 7)

    def test_slurmctld_takes_options_from_the_environment(self):
        container = Container("slurmctld").replace("usr/sbin/slurmctld")
        said = container.output(
            *ENTRYPOINT,
            "-v",
            env={"SLURMCTLD_OPTIONS": "-f '/a b'"},
        )
        self.assertEqual(said.split("\n")[1:5], ["<-D>", "<-f>", "</a b>", "<-v>"])

    def test_sackd_runs_as_slurm_in_its_own_folder(self):
        container = Container("login").replace("usr/sbin/sackd")
        container.replace("usr/sbin/sshd", "#!/bin/sh\nsleep 60\n")
        env = {"SACKD_OPTIONS": "--conf-server here:6817"}
        said = container.output(*ENTRYPOINT, env=env)
        self.assertIn("/usr/sbin/sackd as 401\n<-D>\n<--conf-server>\n<here:6817>\n", said)
        state = container.path("run/slurm").stat()
        self.assertEqual((state.st_uid, state.st_gid), (401, 401))

    def test_the_login_image_makes_home_folders(self):
        self.assertIn("pam_mkhomedir", (root("login") / "etc/pam.d/common-session").read_text())


class ProductTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        build("mainspring")

    def test_it_is_small_and_runs_as_nobody_special(self):
        image = oci.Image(OUTPUT / "mainspring.tar")
        self.assertEqual(image.config["config"]["User"], "65532:65532")
        self.assertEqual(image.config["config"]["Entrypoint"], ["/usr/bin/mainspring"])
        size = sum(p.lstat().st_size for p in root("mainspring").rglob("*") if p.is_file())
        self.assertLess(size, 60_000_000)
        self.assertLess((OUTPUT / "mainspring.tar").stat().st_size, 60_000_000)

    def test_the_program_runs_with_what_is_in_the_image(self):
        command = ["chroot", "--userspec=65532:65532", root("mainspring")]
        done = subprocess.run(
            [*command, "/usr/bin/mainspring", "--version"], capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^mainspring \d+\.\d+\.\d+ \(OpenSSL 3")
        self.assertTrue((root("mainspring") / "etc/ssl/certs/ca-certificates.crt").stat().st_size)

    def test_a_new_program_needs_no_packages_again(self):
        """A key for the program alone: below it is an image that does not change with it."""
        self.addCleanup(images.spec.cache_clear)
        with tempfile.TemporaryDirectory() as folder:
            other = Path(folder) / "mainspring"
            other.write_text("another program")
            keys = [{i.name: i.key for i in self.fresh_lineage(p)} for p in (images.PROGRAM, other)]
        changed = {name for name in keys[0] if keys[0][name] != keys[1][name]}
        self.assertEqual(changed, {"mainspring"})
        self.assertNotIn("apt-get", (images.IMAGES / "mainspring" / "Containerfile").read_text())

    def fresh_lineage(self, program: Path) -> list[images.Spec]:
        with mock.patch.object(images, "PROGRAM", program):
            images.spec.cache_clear()
            lineage = images.spec("mainspring").lineage
            _ = [image.key for image in lineage]
            return lineage

    def test_there_is_no_shell(self):
        names = {path.name for path in (root("mainspring") / "usr/bin").iterdir()}
        self.assertEqual(names, {"mainspring"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
