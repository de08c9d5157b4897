"""Slurm clusters of real daemons on this machine, each in a sandbox: started, described, removed.

An instance is a folder under the state folder. `plan.json` says what it is to be and reserves its
addresses; `endpoint.json` is written last, when everything answers. Whatever is found half done is
cleared away and begun again: these clusters are for tests and keep nothing.
"""

import http.client
import json
import secrets
import shutil
import socket
import time
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from . import images, oci, slurm_conf
from .cache import cached, locked, remove_tree
from .console import Failure, Steps, tail
from .paths import REPO, STATE
from .process import wait_for
from .sandbox import Sandbox
from .slurm_conf import ADDRESS, Plan

FOLDER = STATE / "slurm"
VERSIONS = ("26.05", "24.11")
SLURM_UID = 401
PATIENCE = 180.0  # For one daemon to answer, on a busy machine. One that ends is noticed at once.

# Run in the new root, which is the current folder, but with the users of the machine.
_PREPARE = """
mkdir -p etc/slurm run/slurm run/slurmctld run/slurmdbd run/mysqld var/spool/slurmd
mkdir -p var/spool/slurmctld var/lib/mysql
chown 401:401 run/slurmctld run/slurmdbd var/spool/slurmctld
mount -t tmpfs tmpfs var/lib/mysql
chown 402:402 run/mysqld var/lib/mysql
mount --bind mnt/etc etc/slurm
cp mnt/hosts etc/hosts
printf 'passwd: files\\ngroup: files\\nshadow: files\\nhosts: files\\n' >etc/nsswitch.conf
gpu=0
while [ "$gpu" -lt GPUS ]; do
    mknod "dev/gpu$gpu" c 4 $((10 + gpu))
    gpu=$((gpu + 1))
done
"""


def root_file_system(version: str) -> Path:
    """Of the sandbox image, which is built if it is not there."""
    image = images.spec("sandbox", version)
    images.build_all([image])

    def unpack(folder: Path) -> None:
        oci.Image(images.archive(image)).unpack(folder)

    return cached(f"rootfs-slurm-{version}", image.key, unpack)


def instances() -> list["Instance"]:
    if not FOLDER.is_dir():
        return []
    return [Instance(entry.name) for entry in sorted(FOLDER.iterdir()) if entry.is_dir()]


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError:
            return False
    return True


class Instance:
    def __init__(self, name: str):
        self.name = name
        self.folder = FOLDER / name
        self.sandbox = Sandbox(self.folder)

    @contextmanager
    def locked(self):
        """One command at a time changes an instance."""
        with locked(FOLDER / f".{self.name}.lock"):
            yield

    def plan(self) -> Plan | None:
        try:
            known = json.loads((self.folder / "plan.json").read_text())
        except (OSError, ValueError):
            return None
        return Plan(**known | {"lines": tuple(known["lines"])})

    def endpoint(self) -> dict:
        try:
            return json.loads((self.folder / "endpoint.json").read_text())
        except (OSError, ValueError):
            raise Failure(f"{self.name} is not up; try dev/slurm up --name {self.name}") from None

    def daemons(self) -> dict[str, int | None]:
        """Its daemons by name, each with the number of its process, or None if that is gone."""
        records = sorted((self.folder / "run").glob("*.json"))
        return {record.stem: self.sandbox.daemon(record.stem).pid() for record in records}

    def is_up(self) -> bool:
        daemons = self.daemons()
        return (self.folder / "endpoint.json").exists() and bool(daemons) and all(daemons.values())

    def up(self, wanted: Plan) -> dict:
        with self.locked():
            known = self.plan()
            if known and self.is_up():
                if replace(wanted, index=known.index) != known:
                    raise Failure(
                        f"{self.name} is up with other options; take it down first, or use --name"
                    )
                return self.endpoint()
            self._clear()
            self._start(self._reserve(wanted))
            return self.endpoint()

    def down(self) -> None:
        with self.locked():
            self._clear()

    def _clear(self) -> None:
        self.sandbox.stop()
        remove_tree(self.folder)

    def _reserve(self, wanted: Plan) -> Plan:
        """Gives it addresses that no other instance has."""
        with locked(FOLDER / ".index.lock"):
            plans = [instance.plan() for instance in instances()]
            taken = {plan.index for plan in plans if plan}
            free = (i for i in range(1, slurm_conf.MAX_INSTANCES + 1) if i not in taken)
            candidates = (replace(wanted, index=index) for index in free)
            plan = next((p for p in candidates if all(map(_is_free, p.ports))), None)
            if plan is None:
                raise Failure(f"no free ports; take some of the {len(taken)} instances down")
            self.folder.mkdir(parents=True)
            (self.folder / "plan.json").write_text(json.dumps(asdict(plan)))
        return plan

    def _start(self, plan: Plan) -> None:
        steps = Steps(3 + plan.accounting + (plan.external > 0))
        steps.next(f"root file system of Slurm {plan.version}")
        root = root_file_system(plan.version)
        key = self._write_files(plan)
        self.sandbox.start(root, "controller")
        if plan.accounting:
            steps.next("MariaDB and slurmdbd")
            self._start_accounting(plan)
        steps.next(f"slurmctld, {plan.nodes} slurmd, slurmrestd")
        self._start_daemons(plan)
        steps.next("waiting for the nodes to register")
        admin = slurm_conf.token(key, "slurm")
        self._wait("slurmrestd", lambda: self._registered(plan, admin) == set(plan.node_names))
        if plan.external:
            steps.next(f"{plan.external} external nodes")
            for words in slurm_conf.external_nodes(plan):
                self.sandbox.output(["scontrol", "create", *words])
        if plan.accounting:
            self.sandbox.output(["sacctmgr", "-i", "add", "account", "test"])
            self.sandbox.output(["sacctmgr", "-i", "add", "user", "alice", "account=test"])
        self._write_endpoint(plan, key)
        steps.done(f"Slurm {plan.version} is up as {self.name}")

    def _write_files(self, plan: Plan) -> bytes:
        """What the inside is given; returns the key that signs tokens."""
        files = self.folder / "files"
        (files / "etc").mkdir(parents=True)
        key = secrets.token_bytes(32)
        (files / "prepare").write_text(_PREPARE.replace("GPUS", str(plan.gpus)))
        (files / "hosts").write_text(slurm_conf.hosts(plan))
        shutil.copy(REPO / "images" / "mariadb" / "entrypoint", files / "mariadb")
        for name, text in {
            "slurm.conf": slurm_conf.slurm_conf(plan),
            "cgroup.conf": "CgroupPlugin=disabled\n",
            "gres.conf": slurm_conf.gres_conf(plan),
        }.items():
            (files / "etc" / name).write_text(text)
        for name, data in {
            "slurm.key": secrets.token_bytes(1024),
            "jwt_hs256.key": key,
            "slurmdbd.conf": slurm_conf.slurmdbd_conf(plan).encode(),
        }.items():
            path = files / "etc" / name
            path.touch(mode=0o600)
            path.write_bytes(data)
            shutil.chown(path, SLURM_UID, SLURM_UID)
        return key

    def _start_accounting(self, plan: Plan) -> None:
        run = self.sandbox.start_daemon
        where = [f"--bind-address={ADDRESS}", f"--port={plan.port('mariadb')}"]
        run("mariadb", ["sh", "/mnt/mariadb", *where, "--innodb-log-file-size=8M"], user="mysql")
        self._wait_for_port("mariadb", plan)
        run("slurmdbd", ["/usr/sbin/slurmdbd", "-D"], user="slurm")
        self._wait_for_port("slurmdbd", plan)

    def start_slurmctld(self, plan: Plan) -> None:
        """Also again, after it was killed."""
        self.sandbox.start_daemon("slurmctld", ["/usr/sbin/slurmctld", "-D"], user="slurm")
        self._wait_for_port("slurmctld", plan)

    def start_slurmrestd(self, plan: Plan, name: str = "slurmrestd", port: int = 0) -> None:
        # 24.11 has no util plugin, and ends if it is given the accounting one without accounting.
        plugins = ["slurmctld"] + ["slurmdbd"] * plan.accounting
        plugins += ["util"] * (plan.version != "24.11")
        self.sandbox.start_daemon(
            name,
            ["/usr/sbin/slurmrestd", "-a", "rest_auth/jwt", "-s", ",".join(plugins), "-t", "4"]
            + [f"{ADDRESS}:{port or plan.port('slurmrestd')}"],
            user="65534",
            # As images/slurmrestd has it.
            env={"SLURM_JWT": "daemon", "SLURMRESTD_JSON": "compact"},
        )

    def _start_daemons(self, plan: Plan) -> None:
        self.start_slurmctld(plan)
        for name in plan.node_names:
            conf = slurm_conf.node_conf(plan, name)
            argv = ["/usr/sbin/slurmd", "-D", "-Z", "-N", name, "--conf", conf]
            self.sandbox.start_daemon(name, argv, hostname=name)
        self.start_slurmrestd(plan)

    def _wait(self, daemon: str, condition) -> None:
        """For `condition`, as long as the daemon lives."""
        watched = self.sandbox.daemon(daemon)
        state = {"met": False}

        def over() -> bool:
            state["met"] = condition()
            return state["met"] or watched.pid() is None

        wait_for(over, PATIENCE)
        if not state["met"]:
            raise Failure(
                f"{daemon} does not answer as it should. Read {watched.log}; it ends with:\n"
                f"{tail(watched.log)}"
            )

    def _wait_for_port(self, daemon: str, plan: Plan) -> None:
        def listens() -> bool:
            try:
                socket.create_connection((ADDRESS, plan.port(daemon)), 1).close()
            except OSError:
                return False
            return True

        self._wait(daemon, listens)

    def _registered(self, plan: Plan, admin: str) -> set[str]:
        """The names of the nodes that can take jobs."""
        client = http.client.HTTPConnection(ADDRESS, plan.port("slurmrestd"), timeout=15)
        try:
            client.request("GET", "/slurm/v0.0.42/nodes/", headers={"X-SLURM-USER-TOKEN": admin})
            answer = client.getresponse()
            body = answer.read()
            if answer.status != 200:
                return {f"status {answer.status}"}
        except (OSError, http.client.HTTPException):
            return {"no answer"}
        finally:
            client.close()
        nodes = json.loads(body)["nodes"]
        return {
            n["name"] for n in nodes if "IDLE" in n["state"] and "NOT_RESPONDING" not in n["state"]
        }

    def _write_endpoint(self, plan: Plan, key: bytes) -> None:
        users = ("slurm", "alice")
        tokens = {user: slurm_conf.token(key, user) for user in users}
        endpoint = {
            "name": plan.name,
            "version": plan.version,
            "url": plan.url,
            "api_versions": plan.api_versions,
            "user": "slurm",
            "token": tokens["slurm"],
            "tokens": tokens,
            "jwt_key": str(self.folder / "files" / "etc" / "jwt_hs256.key"),
            "slurmctld": f"{ADDRESS}:{plan.port('slurmctld')}",
            "nodes": plan.node_names,
            "folder": str(self.folder),
            "started": int(time.time()),
        }
        unfinished = self.folder / "endpoint.json.new"
        unfinished.touch(mode=0o600)
        unfinished.write_text(json.dumps(endpoint, indent=2) + "\n")
        unfinished.rename(self.folder / "endpoint.json")
