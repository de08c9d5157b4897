"""Progress for people: numbered steps with elapsed time, long commands with a sign of life.

A command's output goes to a log file; the terminal sees one line that says what is happening and,
while it lasts, the newest line of the log. On failure it says which log to read and shows its end.
"""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

QUIET_SECONDS = 15  # Without a terminal: how often a long command says that it is still running.


class Failure(Exception):
    """Something a person must act on. Its text says what and how; no traceback is shown."""


def say(text: str) -> None:
    print(text, flush=True)


def tail(log: Path, lines: int = 20) -> str:
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""


class Steps:
    """The numbered steps of one command: `[2/7  14.2s] Building etcd`."""

    def __init__(self, total: int):
        self.total = total
        self.number = 0
        self.started = time.monotonic()

    def elapsed(self) -> str:
        return f"{time.monotonic() - self.started:6.1f}s"

    def next(self, what: str) -> None:
        self.number += 1
        say(f"[{self.number}/{self.total} {self.elapsed()}] {what}")

    def done(self, what: str) -> None:
        say(f"[done {self.elapsed()}] {what}")


def run(argv, log: Path, what: str, **options) -> None:
    """Runs a command with its output in `log`, showing a sign of life. Raises Failure if it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    started = last_shown = time.monotonic()
    terminal = sys.stdout.isatty()
    with log.open("wb") as out:
        child = subprocess.Popen(
            [str(a) for a in argv],
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            **options,
        )
        try:
            while child.poll() is None:
                time.sleep(0.1)
                now = time.monotonic()
                if now - last_shown >= (1 if terminal else QUIET_SECONDS):
                    last_shown = now
                    _show_life(what, now - started, tail(log, 1), terminal)
        except BaseException:
            child.terminate()
            child.wait()
            raise
    if terminal and last_shown != started:
        sys.stdout.write("\r\033[K")
    if child.returncode != 0:
        raise Failure(
            f"{what} failed (exit {child.returncode}). Read {log}; it ends with:\n{tail(log)}"
        )


def _show_life(what: str, seconds: float, newest: str, terminal: bool) -> None:
    if terminal:
        width = os.get_terminal_size().columns
        text = f"    {what} ({seconds:.0f}s) {newest.strip()}"[: width - 1]
        sys.stdout.write(f"\r\033[K{text}")
        sys.stdout.flush()
    else:
        say(f"    {what}: {seconds:.0f}s so far; {newest.strip()[:100]}")


@contextmanager
def failures_are_messages(program: str):
    """Around main(): turns Failure into a message and exit status 1, and Ctrl-C into status 130."""
    try:
        yield
    except Failure as failure:
        print(f"{program}: {failure}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        # Whoever read the output, `head` say, has seen enough; Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        print(f"{program}: interrupted; run it again to continue", file=sys.stderr)
        sys.exit(130)
