"""The configuration of a Slurm cluster on one machine: cgroup v1 or none, no systemd, no munge.

Everything listens on 127.0.0.1, and each instance has a block of ports. Not an address of its own:
a step answers to where srun's connection seems to come from, and on the loopback that is 127.0.0.1
whatever address srun listens on. External nodes, which nobody talks to, are in 127.(64+index).0.0/16.
"""

import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass

FIRST_PORT, PORTS = 18000, 300  # Below the ports that the kernel hands out.
MAX_INSTANCES = 45
MAX_NODES = 250
ADDRESS = "127.0.0.1"
MAX_EXTERNAL = 50_000
MAX_GPUS = 8
TOKEN_LIFE = 10 * 365 * 24 * 3600  # A test cluster does not live longer than its tokens.


@dataclass(frozen=True)
class Plan:
    """What an instance is to be."""

    name: str
    version: str
    index: int
    nodes: int
    external: int
    gpus: int
    accounting: bool
    lines: tuple[str, ...]

    def port(self, daemon: str) -> int:
        """Of slurmctld, slurmdbd, slurmrestd, mariadb, node1, node2..."""
        order = ("slurmctld", "slurmdbd", "slurmrestd", "mariadb")
        place = order.index(daemon) if daemon in order else 10 + int(daemon.removeprefix("node"))
        return FIRST_PORT + PORTS * (self.index - 1) + place

    @property
    def ports(self) -> list[int]:
        daemons = ["slurmctld", "slurmdbd", "slurmrestd", "mariadb", *self.node_names]
        return [self.port(daemon) for daemon in daemons]

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.port('slurmrestd')}"

    @property
    def api_versions(self) -> list[str]:
        last = {"26.05": (42, 45), "24.11": (40, 42)}[self.version]
        return [f"v0.0.{number}" for number in range(last[0], last[1] + 1)]

    @property
    def node_names(self) -> list[str]:
        return [f"node{number}" for number in range(1, self.nodes + 1)]

    def external_address(self, number: int) -> str:
        return f"127.{64 + self.index}.{(number - 1) // 250}.{(number - 1) % 250 + 1}"


def hosts(plan: Plan) -> str:
    return f"{ADDRESS} {' '.join(['localhost', 'controller', *plan.node_names])}\n"


def slurm_conf(plan: Plan) -> str:
    lines = [
        f"ClusterName={plan.name}",
        "SlurmUser=slurm",
        f"SlurmctldHost=controller({ADDRESS})",
        f"SlurmctldPort={plan.port('slurmctld')}",
        # Listen only on the address of the own host name.
        "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny",
        "AuthType=auth/slurm",
        "CredType=cred/slurm",
        "AuthInfo=use_client_ids",
        "AuthAltTypes=auth/jwt",
        "AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key",
        "StateSaveLocation=/var/spool/slurmctld",
        "SlurmctldPidFile=/run/slurmctld/slurmctld.pid",
        "SlurmdPidFile=/run/slurmd-%n.pid",
        "SlurmdSpoolDir=/var/spool/slurmd/%n",
        "SlurmctldDebug=verbose",
        "SlurmdDebug=verbose",
        # Nodes may claim more than the machine has.
        "SlurmdParameters=config_overrides",
        "SlurmctldParameters=enable_configless",
        "MaxNodeCount=65000",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "JobAcctGatherType=jobacct_gather/linux",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        "MpiDefault=none",
        "ReturnToService=1",
        "KillWait=5",
        # A job that can start does so in well under a second, and a long queue is looked at whole.
        "SchedulerParameters=batch_sched_delay=0,sched_min_interval=1000,"
        "default_queue_depth=10000,bf_interval=5",
    ]
    if plan.version != "24.11":
        lines.append("MetricsType=metrics/openmetrics")
    if plan.gpus:
        lines.append("GresTypes=gpu")
    if plan.accounting:
        lines += [
            "AccountingStorageType=accounting_storage/slurmdbd",
            f"AccountingStorageHost={ADDRESS}",
            f"AccountingStoragePort={plan.port('slurmdbd')}",
        ]
    lines += [
        "NodeSet=compute Feature=compute",
        "NodeSet=external Feature=external",
        "PartitionName=compute Nodes=compute Default=YES MaxTime=UNLIMITED State=UP",
        "PartitionName=external Nodes=external MaxTime=UNLIMITED State=UP",
        "PartitionName=all Nodes=ALL MaxTime=UNLIMITED State=UP",
    ]
    return "\n".join([*lines, *plan.lines]) + "\n"


def slurmdbd_conf(plan: Plan) -> str:
    return f"""AuthType=auth/slurm
AuthInfo=use_client_ids
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key
CommunicationParameters=NoInAddrAny
DbdHost=controller
DbdAddr={ADDRESS}
DbdPort={plan.port('slurmdbd')}
SlurmUser=slurm
PidFile=/run/slurmdbd/slurmdbd.pid
DebugLevel=verbose
StorageType=accounting_storage/mysql
StorageHost={ADDRESS}
StoragePort={plan.port('mariadb')}
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
"""


def gres_conf(plan: Plan) -> str:
    """Devices that exist and that nobody opens stand for GPUs."""
    if not plan.gpus:
        return ""
    return f"NodeName=node[1-{MAX_NODES}] Name=gpu Type=h100 File=/dev/gpu[0-{plan.gpus - 1}]\n"


def node_conf(plan: Plan, name: str) -> str:
    words = ["CPUs=8", "RealMemory=16000", f"NodeAddr={ADDRESS}", f"Port={plan.port(name)}"]
    words.append("Feature=compute")
    if plan.gpus:
        words.append(f"Gres=gpu:h100:{plan.gpus}")
    return " ".join(words)


def external_nodes(plan: Plan) -> list[list[str]]:
    """Definitions that together make all external nodes: as ranges, except with GPUs, for which
    Slurm takes only one node at a time."""
    step = 1 if plan.gpus else 250
    found = []
    for first in range(1, plan.external + 1, step):
        last = min(first + step - 1, plan.external)
        names, addresses = f"ext{first}", plan.external_address(first)
        if last > first:
            names = f"ext[{first}-{last}]"
            addresses = f"{addresses.rpartition('.')[0]}.[1-{last - first + 1}]"
        words = [f"NodeName={names}", f"NodeAddr={addresses}", "Sockets=1", "CoresPerSocket=16"]
        words += ["ThreadsPerCore=2", "CPUs=32", "RealMemory=128000", "State=External"]
        words += ["Feature=external"]
        if plan.gpus:
            device = f"/dev/nvidia[0-{plan.gpus - 1}]" if plan.gpus > 1 else "/dev/nvidia0"
            words.append(f"Gres=gpu:h100:{plan.gpus}")
            words.append(f"GresConf=count={plan.gpus},name=gpu,type=h100,file={device}")
        found.append(words)
    return found


def token(key: bytes, user: str, life: int = TOKEN_LIFE) -> str:
    """A token that slurmrestd accepts, signed with the cluster's own key."""
    now = int(time.time())
    claims = {"exp": now + life, "iat": now, "sun": user}
    parts = [
        _encode(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims)
    ]
    signature = hmac.new(key, ".".join(parts).encode(), hashlib.sha256).digest()
    return ".".join([*parts, _encode(signature)])


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
