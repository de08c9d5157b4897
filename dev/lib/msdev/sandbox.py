"""A root file system running in namespaces of its own: mounts, processes, host name, IPC.

The cached root file system stays as it is; what the inside writes goes to a folder that is laid over
it. All mounts are made inside, so they end with the last process, and all processes end with the
first one. Every process carries a mark in its environment, so that they are found again whatever
record was lost, and never confused with others.
"""

import os
import signal
import subprocess
from pathlib import Path

from .console import Failure, tail
from .process import Daemon, start_time, wait_for

MARK = "MAINSPRING_SANDBOX"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Runs as the first process, still seeing the machine's files; ends as tini inside. $1 is the folder.
_ENTER = """
set -eu
cd "$1"
mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" root
cd root
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for device in null zero full random urandom tty; do
    : >dev/$device
    mount --bind /dev/$device dev/$device
done
mount --bind "$1/files" mnt
echo "$3" >/proc/sys/kernel/hostname
sh -eu mnt/prepare
pivot_root . opt
exec chroot . /bin/sh -c 'umount -l /opt && : >/run/ready && exec tini -g -- sleep infinity'
"""


class Sandbox:
    """One of them, in `folder`: what it writes (upper), what it is given (files), logs and records."""

    def __init__(self, folder: Path):
        self.folder = folder

    def daemon(self, name: str) -> Daemon:
        return Daemon(self.folder, name)

    def start(self, lower: Path, hostname: str) -> None:
        """`files/prepare` is run inside, before the machine's files are let go, to finish the mounts."""
        for part in ("upper", "work", "root"):
            (self.folder / part).mkdir(parents=True)
        outer = self.daemon("sandbox")
        outer.start(
            ["unshare", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child"]
            + ["/bin/sh", "-c", _ENTER, "enter", self.folder, lower, hostname],
            env=self._environment(),
        )
        if (
            not wait_for(lambda: self._is_ready() or outer.pid() is None, 20)
            or not self._is_ready()
        ):
            raise Failure(f"the sandbox did not start. {outer.log} ends with:\n{tail(outer.log)}")

    def first_process(self) -> int | None:
        """The machine's number of the process that everything inside depends on."""
        return _child(self.daemon("sandbox").pid())

    def process(self, daemon: str) -> int | None:
        """Of a daemon itself; that of daemon() only waits for it."""
        return _child(self.daemon(daemon).pid())

    def kill(self, daemon: str) -> None:
        """As a crash would end it. Returns when it is gone; one that is just ending ends."""
        if (process := self.process(daemon)) is not None:
            os.kill(process, signal.SIGKILL)
        wait_for(lambda: self.daemon(daemon).pid() is None, 10)

    def command(
        self, argv, user: str = "root", hostname: str = "", env: dict | None = None
    ) -> list:
        """The command line that runs `argv` inside."""
        first = self.first_process()
        if first is None:
            raise Failure("it is not running")
        line = ["nsenter", "-t", first, "-m", "-p", "-u", "-i"]
        if hostname:
            # Daemons that stand for machines of their own each have their own name.
            line += ["unshare", "--uts", "sh", "-c"]
            line += ['echo "$1" >/proc/sys/kernel/hostname; shift; exec "$@"', "sh", hostname]
        line += ["env", "-i", f"{MARK}={self.folder}", f"PATH={PATH}", "LANG=C.UTF-8"]
        line += [f"{key}={value}" for key, value in (env or {}).items()]
        if user != "root":
            line += ["setpriv", "--reuid", user, "--regid", user, "--init-groups"]
        return [str(part) for part in [*line, *argv]]

    def start_daemon(self, name: str, argv, **how) -> None:
        self.daemon(name).start(self.command(argv, **how), env=self._environment())

    def output(self, argv, **how) -> str:
        """Of a command run inside. Raises Failure if it fails."""
        done = subprocess.run(
            self.command(argv, **how), capture_output=True, text=True, env=self._environment()
        )
        if done.returncode != 0:
            raise Failure(
                f"{' '.join(map(str, argv))} failed: {(done.stdout + done.stderr).strip()}"
            )
        return done.stdout

    def stop(self) -> None:
        """Ends every process of it and returns when they are gone."""
        for _ in range(10):
            alive = self.processes()
            if not alive:
                break
            for pid in alive:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            wait_for(lambda: not self.processes(), 2)
        else:
            raise Failure(f"processes {self.processes()} do not end")

    def processes(self) -> list[int]:
        """The living ones that carry our mark. Those inside without it depend on one that has it."""
        mark = f"{MARK}={self.folder}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or start_time(int(entry.name)) is None:
                continue
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def _is_ready(self) -> bool:
        first = self.first_process()
        return first is not None and Path(f"/proc/{first}/root/run/ready").exists()

    def _environment(self) -> dict:
        return {"PATH": PATH, MARK: str(self.folder)}


def _child(pid: int | None) -> int | None:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return None
    return int(children[0]) if children else None
