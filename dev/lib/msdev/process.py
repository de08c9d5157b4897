"""Daemons that outlive the command which starts them, and that are never confused with others.

A process is known by its pid together with its start time, so a stale record can never hit a
stranger who got the same pid. A zombie counts as dead: the machine's PID 1 may reap late.
"""

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path


def start_time(pid: int) -> int | None:
    """In clock ticks since boot; None if there is no such living process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat[stat.rindex(")") + 2 :].split()
    return None if fields[0] in "ZX" else int(fields[19])


@dataclass(frozen=True)
class Daemon:
    """One daemon of a cluster: `run/NAME.json` records it, `log/NAME.log` has its output."""

    folder: Path
    name: str

    @property
    def record(self) -> Path:
        return self.folder / "run" / f"{self.name}.json"

    @property
    def log(self) -> Path:
        return self.folder / "log" / f"{self.name}.log"

    def pid(self) -> int | None:
        """Of the living process, else None."""
        try:
            known = json.loads(self.record.read_text())
        except (OSError, ValueError):
            return None
        pid = known["pid"]
        born = start_time(pid)
        return pid if born is not None and born == known["start_time"] else None

    def start(self, argv, **options) -> None:
        """Starts it in a session of its own. Does nothing if it lives already."""
        if self.pid() is not None:
            return
        self.record.parent.mkdir(parents=True, exist_ok=True)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as out:
            child = subprocess.Popen(
                [str(a) for a in argv],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **options,
            )
        record = {
            "pid": child.pid,
            "start_time": start_time(child.pid),
            "argv": [str(a) for a in argv],
        }
        self.record.write_text(json.dumps(record))

    def stop(self, grace: float = 10.0) -> None:
        """Asks it to end, insists after `grace` seconds, and returns when it is gone."""
        pid = self.pid()
        if pid is not None:
            for sign, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 10.0)):
                try:
                    os.kill(pid, sign)
                except ProcessLookupError:
                    break
                if wait_for(lambda: self.pid() is None, patience):
                    break
            else:
                raise RuntimeError(f"{self.name} (pid {pid}) does not end")
        self.record.unlink(missing_ok=True)


def wait_for(condition, patience: float, every: float = 0.05, seldom: float | None = None) -> bool:
    """True as soon as `condition()` is; False if it is not within `patience` seconds. Where a look is
    expensive, `seldom` lets the pauses grow from `every` up to that."""
    end, pause = time.monotonic() + patience, every
    while not condition():
        left = end - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(pause, left))
        pause = min(pause * 1.5, seldom or every)
    return True
