"""The command dev/slurm."""

import argparse
import json
import os
import re
import sys

from . import slurm, slurm_conf
from .console import Failure, Steps, failures_are_messages, say
from .slurm import Instance

DESCRIPTION = """Real Slurm daemons on this machine, for tests and benchmarks: slurmctld, slurmd as
dynamic nodes, slurmrestd, and with --accounting slurmdbd and MariaDB."""


def main() -> None:
    options = _parser().parse_args()
    with failures_are_messages("dev/slurm"):
        if os.geteuid() != 0:
            raise Failure("needs root, for namespaces and mounts")
        if not re.fullmatch(
            r"[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?", getattr(options, "name", "default")
        ):
            raise Failure(
                f"name {options.name!r}: use lower-case letters, digits and dashes, 30 at most"
            )
        options.action(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dev/slurm", description=DESCRIPTION)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, action, text: str, named: bool = True) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(action=action)
        if named:
            sub.add_argument("--name", default="default", help="which instance (default)")
        return sub

    up = command("up", _up, "start an instance, or finish starting it")
    up.add_argument("--version", default="26.05", choices=slurm.VERSIONS)
    up.add_argument("--nodes", type=int, default=2, help="slurmd daemons (2)")
    up.add_argument("--external", type=int, default=0, help="external nodes, without a slurmd (0)")
    up.add_argument("--gpus", type=int, default=0, help="make-believe GPUs in every node (0)")
    up.add_argument("--accounting", action="store_true", help="with slurmdbd and MariaDB")
    up.add_argument("--conf", action="append", default=[], metavar="LINE", help="add to slurm.conf")
    down = command("down", _down, "remove an instance and everything of it")
    down.add_argument("--all", action="store_true", help="all instances")
    command("status", _status, "show all instances and their daemons", named=False)
    command("endpoint", _endpoint, "print address and tokens as JSON")
    execute = command("exec", _exec, "run a command inside: dev/slurm exec sinfo")
    execute.add_argument("--user", default="root", help="root, slurm, alice")
    execute.add_argument("command", nargs=argparse.REMAINDER, metavar="CMD")
    logs = command("logs", _logs, "print a daemon's log")
    logs.add_argument("daemon", nargs="?", help="slurmctld, slurmrestd, node1, slurmdbd, mariadb")
    logs.add_argument("-f", "--follow", action="store_true")
    build = command(
        "build", _build, "build the root file systems, so that up is quick", named=False
    )
    build.add_argument("--version", choices=slurm.VERSIONS, action="append")
    return parser


def _up(options) -> None:
    if options.external and options.version == "24.11":
        raise Failure("Slurm 24.11 has no external nodes; use --version 26.05, or no --external")
    for what, most in (
        ("nodes", slurm_conf.MAX_NODES),
        ("external", slurm_conf.MAX_EXTERNAL),
        ("gpus", slurm_conf.MAX_GPUS),
    ):
        if not 0 <= getattr(options, what) <= most:
            raise Failure(f"--{what} {getattr(options, what)}: choose 0 to {most}")
    plan = slurm_conf.Plan(
        name=options.name,
        version=options.version,
        index=0,
        nodes=options.nodes,
        external=options.external,
        gpus=options.gpus,
        accounting=options.accounting,
        lines=tuple(options.conf),
    )
    endpoint = Instance(options.name).up(plan)
    say(f"endpoint  {endpoint['url']}/slurm/{endpoint['api_versions'][-1]}/")
    say(f"token     {endpoint['token']}")


def _down(options) -> None:
    chosen = slurm.instances() if options.all else [Instance(options.name)]
    for instance in chosen:
        instance.down()
        say(f"{instance.name} is down")


def _status(_options) -> None:
    for instance in slurm.instances():
        plan = instance.plan()
        state = "up" if instance.is_up() else "not up"
        about = f"Slurm {plan.version}, {plan.url}" if plan else "started by a broken command"
        say(f"{instance.name}: {state} ({about})")
        for daemon, pid in instance.daemons().items():
            say(f"  {daemon:12} " + (f"pid {pid}" if pid else "gone; see dev/slurm logs"))


def _endpoint(options) -> None:
    print(json.dumps(Instance(options.name).endpoint(), indent=2))


def _exec(options) -> None:
    argv = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not argv:
        raise Failure("which command? For example: dev/slurm exec sinfo")
    instance = Instance(options.name)
    instance.endpoint()
    home = "/root" if options.user == "root" else f"/home/{options.user}"
    env = {"HOME": home, "USER": options.user, "TERM": os.environ.get("TERM", "dumb")}
    line = instance.sandbox.command(argv, user=options.user, env=env)
    sys.stdout.flush()
    os.execvp(line[0], line)


def _logs(options) -> None:
    instance = Instance(options.name)
    there = sorted(log.stem for log in (instance.folder / "log").glob("*.log"))
    if options.daemon not in there:
        raise Failure(f"choose one of the logs of {options.name}: {', '.join(there) or 'none'}")
    log = str(instance.sandbox.daemon(options.daemon).log)
    sys.stdout.flush()
    os.execvp("tail", ["tail", "-n", "+1", *(["-f"] if options.follow else []), log])


def _build(options) -> None:
    versions = options.version or slurm.VERSIONS
    steps = Steps(len(versions))
    for version in versions:
        steps.next(f"root file system of Slurm {version}")
        slurm.root_file_system(version)
    steps.done("dev/slurm up is quick now")
