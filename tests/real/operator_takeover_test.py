"""Login pods, slurmrestd, slurmdbd, tokens and workers, also such that follow nodes, as the operator before
us left them: ours starts, nothing is restarted or made anew, and they scale as any others. What that operator
wrote stands here word for word, by the public contract, and is not made of anything of ours."""

import hashlib
import unittest

from operator_harness import (
    KEYS,
    REVISION,
    OperatorTest,
    config_map,
    controller,
    nodeset,
    secret,
    slinky,
)
from operator_takeover import TakesNodeSetsOver

from msdev import slurm_conf

KEY = b"s" * 1024
HASH = "slinky.slurm.net/{}-hash"
MEMORY = {"emptyDir": {"medium": "Memory"}}
SSHD_CONFIG = """#
### GENERAL ###
Include /etc/ssh/sshd_config.d/*.conf
UsePAM yes
X11Forwarding yes
Subsystem sftp internal-sftp
"""
EXTRA_SSHD_CONFIG = """#
### EXTRA CONFIG ###
PermitRootLogin no
"""
SLURMDBD_CONF = """#
### GENERAL ###
DbdHost=acct-accounting-0
DbdPort=6819
SlurmUser=slurm
#
### PLUGINS & PARAMETERS ###
AuthType=auth/slurm
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt.key,jwks=/etc/slurm/jwks.json
AuthInfo=use_client_ids
#
### STORAGE ###
StorageType=accounting_storage/mysql
StorageHost=mariadb
StoragePort=3306
StorageUser=slurm
StorageLoc=slurm_acct_db
StoragePass=secret
#
### LOGGING ###
LogFile=/dev/null
#
### EXTRA CONFIG ###
PurgeJobAfter=12month
"""


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def template_of(workload: dict) -> dict:
    return workload["spec"]["template"]


def labels_of(app: str, component: str, instance: str) -> dict:
    names = {"name": app, "component": component, "instance": instance}
    return {f"app.kubernetes.io/{key}": value for key, value in names.items()}


def selector_of(labels: dict) -> dict:
    return {key: labels[key] for key in ("app.kubernetes.io/name", "app.kubernetes.io/instance")}


def files_of(kind: str, name: str, *files: str, **modes: int) -> dict:
    """A source of a projected volume: keys that are files of the same names."""
    items = [{"key": one, "path": one, **modes} for one in files]
    return {kind: {"name": name, "items": items}}


def projected(name: str, *sources: dict, mode: int = 0o600) -> dict:
    return {"name": name, "projected": {"defaultMode": mode, "sources": list(sources)}}


def run_as(number: int) -> dict:
    return {"runAsNonRoot": True, "runAsUser": number, "runAsGroup": number}


def mounted_file(volume: str, path: str) -> dict:
    file = path.rpartition("/")[2]
    return {"name": volume, "mountPath": path, "subPath": file, "readOnly": True}


class OperatorTakeOverTest(TakesNodeSetsOver, OperatorTest):
    cluster = "test-op-takeover"
    with_operator = False

    def made(self, kind: str, name: str, owner: dict, labels: dict, **more) -> dict:
        version = "apps/v1" if kind in ("Deployment", "StatefulSet") else "v1"
        meta = {"name": name, "namespace": self.ns, "labels": labels}
        meta["ownerReferences"] = [self.reference(owner)]
        meta |= more.pop("metadata", {})
        return {"apiVersion": version, "kind": kind, "metadata": meta, **more}

    def service(self, name: str, owner: dict, labels: dict, app: str, port: int, **more) -> dict:
        ports = [{"name": app, "port": port, "protocol": "TCP", "targetPort": app}]
        labels = {**labels, **more}
        return self.made(
            "Service", name, owner, labels, spec={"selector": selector_of(labels), "ports": ports}
        )

    @staticmethod
    def workload(labels: dict, template: dict, **more) -> dict:
        own = {"revisionHistoryLimit": 0, "selector": {"matchLabels": selector_of(labels)}}
        return {**own, "template": template, **more}

    def upstream_restapi(self):
        """No hash of keys or files stood in its template."""
        spec = {"controllerRef": {"name": "slurm"}, "replicas": 2, "service": {"port": 80}}
        spec["slurmrestd"] = {"image": "slurmrestd:26.05", "args": ["-vv"]}
        object_ = slinky("RestApi", self.ns, "rest", spec)
        object_["metadata"]["annotations"] = {"example.com/owner": "hpc"}
        owner = self.api.create(object_)
        labels = labels_of("slurmrestd", "restapi", "rest")
        port = {"tcpSocket": {"port": 6820}}
        alive = {**port, "failureThreshold": 6, "periodSeconds": 10}
        container = {
            "name": "slurmrestd",
            "image": "slurmrestd:26.05",
            "args": ["-s", "openapi/slurmctld", "-vv", "0.0.0.0:6820"],
            "env": [
                {"name": "SLURM_JWT", "value": "daemon"},
                {
                    "name": "SLURMRESTD_SECURITY",
                    "value": "disable_unshare_files,disable_unshare_sysv",
                },
            ],
            "ports": [{"name": "slurmrestd", "containerPort": 6820, "protocol": "TCP"}],
            "startupProbe": alive,
            "livenessProbe": alive,
            "readinessProbe": port,
            "securityContext": run_as(65534),
            "volumeMounts": [{"name": "slurm-etc", "mountPath": "/etc/slurm", "readOnly": True}],
        }
        etc = projected(
            "slurm-etc",
            files_of("configMap", "slurm-config", "slurm.conf"),
            files_of("secret", "slurm-key", "slurm.key"),
        )
        pod = {
            "automountServiceAccountToken": False,
            "containers": [container],
            "securityContext": {**run_as(65534), "fsGroup": 65534},
            "volumes": [etc],
        }
        notes = {"example.com/owner": "hpc"}
        default = {"kubectl.kubernetes.io/default-container": "slurmrestd"}
        template = {
            "metadata": {"labels": labels, "annotations": {**notes, **default}},
            "spec": pod,
        }
        self.api.create(
            self.service("rest-restapi", owner, labels, "slurmrestd", 80),
            self.made(
                "Deployment", "rest-restapi", owner, labels, metadata={"annotations": notes},
                spec=self.workload(labels, template, replicas=2),
            ),
        )  # fmt: skip

    def upstream_accounting(self):
        """The template's metadata was on the StatefulSet and not handed on to the pods."""
        storage = {"host": "mariadb", "username": "slurm"}
        storage["passwordKeyRef"] = {"name": "mariadb", "key": "password"}
        notes = {"example.com/scrape": "true"}
        spec = {
            **KEYS,
            "jwksKeyRef": {"name": "idp", "key": "keys.json"},
            "storageConfig": storage,
            "extraConf": "PurgeJobAfter=12month",
            "slurmdbd": {"image": "slurmdbd:26.05", "resources": {"requests": {"cpu": "100m"}}},
            "template": {"metadata": {"annotations": notes}},
            "service": {"metadata": {"labels": {"exposed": "inside"}}},
        }
        object_ = slinky("Accounting", self.ns, "acct", spec)
        object_["metadata"]["labels"] = {"team": "hpc"}
        owner = self.api.create(object_)
        labels = {**labels_of("slurmdbd", "accounting", "acct"), "team": "hpc"}
        container = {
            "name": "slurmdbd",
            "image": "slurmdbd:26.05",
            "resources": {"requests": {"cpu": "100m"}},
            "ports": [{"name": "slurmdbd", "containerPort": 6819, "protocol": "TCP"}],
            "readinessProbe": {"tcpSocket": {"port": 6819}},
            "securityContext": run_as(401),
            "volumeMounts": [
                {"name": "slurm-etc", "mountPath": "/etc/slurm", "readOnly": True},
                {"name": "run", "mountPath": "/run"},
            ],
        }
        keys = {"configMap": {"name": "idp", "items": [{"key": "keys.json", "path": "jwks.json"}]}}
        etc = projected(
            "slurm-etc",
            files_of("secret", "acct-accounting", "slurmdbd.conf"),
            files_of("secret", "slurm-key", "slurm.key"),
            files_of("secret", "jwt-key", "jwt.key"),
            keys,
        )
        pod = {
            "automountServiceAccountToken": False,
            "containers": [container],
            "securityContext": {**run_as(401), "fsGroup": 401},
            "volumes": [etc, {"name": "run", **MEMORY}],
        }
        annotations = {
            "kubectl.kubernetes.io/default-container": "slurmdbd",
            HASH.format("slurmdbd-conf"): sha(SLURMDBD_CONF.encode()),
            HASH.format("slurm-key"): sha(KEY),
            HASH.format("jwt-key"): sha(self.slurm.key),
        }
        template = {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod}
        more = {"podManagementPolicy": "Parallel", "serviceName": "acct-accounting", "replicas": 1}
        conf = secret(self.ns, "", {"slurmdbd.conf": SLURMDBD_CONF.encode()})["data"]
        self.api.create(
            secret(self.ns, "mariadb", {"password": b"secret"}),
            config_map(self.ns, "idp", {"keys.json": '{"keys": []}'}),
            self.made("Secret", "acct-accounting", owner, labels, data=conf),
            self.service("acct-accounting", owner, labels, "slurmdbd", 6819, exposed="inside"),
            self.made(
                "StatefulSet", "acct-accounting", owner, labels, metadata={"annotations": notes},
                spec=self.workload(labels, template, **more),
            ),
        )  # fmt: skip

    def upstream_loginset(self, name: str, options: str, **login):
        """`options`: of sackd. The user's stood in the place of the operator's own."""
        spec = {
            "controllerRef": {"name": "slurm"},
            "replicas": 1,
            "rootSshAuthorizedKeys": "ssh-ed25519 AAAA admin",
            "extraSshdConfig": "PermitRootLogin no",
            "sssdConfRef": {"name": "sssd", "key": "sssd.conf"},
            "strategy": {"type": "Recreate"},
            "login": {"image": "login:26.05", **login},
            "initconf": {"image": "login:26.05"},
            "template": {"spec": {"nodeSelector": {"role": "login"}}},
        }
        owner = self.api.create(slinky("LoginSet", self.ns, name, spec))
        labels = labels_of("login", "login", name)
        sshd = SSHD_CONFIG + EXTRA_SSHD_CONFIG
        files = [f"ssh_host_{k}_key{p}" for k in ("rsa", "ed25519", "ecdsa") for p in ("", ".pub")]
        keys = {file: file.encode() for file in sorted(files)}
        etc = {"name": "slurm-etc", "mountPath": "/etc/slurm", "readOnly": True}
        container = {
            "name": "login",
            "image": "login:26.05",
            "env": [{"name": "SACKD_OPTIONS", "value": options}],
            "ports": [{"name": "login", "containerPort": 22, "protocol": "TCP"}],
            "readinessProbe": {"exec": {"command": ["test", "-S", "/run/slurm/sack.socket"]}},
            "volumeMounts": [
                etc,
                {"name": "sackd-dir", "mountPath": "/run/slurm"},
                *(mounted_file("ssh-host-keys", f"/etc/ssh/{file}") for file in files),
                mounted_file("ssh-config", "/etc/ssh/sshd_config"),
                mounted_file("ssh-config", "/root/.ssh/authorized_keys"),
                mounted_file("sssd-conf", "/etc/sssd/sssd.conf"),
            ],
        }
        first = {
            "name": "initconf",
            "image": "login:26.05",
            "env": [{"name": "SLURM_USER", "value": "slurm"}],
            "command": ["sh", "-c", "cp /mnt/slurm/* /mnt/etc/slurm"],
            "volumeMounts": [
                {"name": "slurm-etc", "mountPath": "/mnt/etc/slurm"},
                {"name": "slurm-config", "mountPath": "/mnt/slurm", "readOnly": True},
            ],
        }
        items = [
            {"key": file, "path": file, "mode": 0o644 if ".pub" in file else 0o600}
            for file in files
        ]
        host_keys = {"secret": {"name": f"{name}-ssh-host-keys", "items": items}}
        config = files_of(
            "configMap", f"{name}-ssh-config", "sshd_config", "authorized_keys", mode=0o600
        )
        pod = {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "dnsConfig": {"searches": [f"slurm-workers-slurm.{self.ns}.svc.cluster.local"]},
            "nodeSelector": {"role": "login"},
            "initContainers": [first],
            "containers": [container],
            "volumes": [
                {"name": "slurm-etc", **MEMORY},
                {"name": "sackd-dir", **MEMORY},
                projected("slurm-config", files_of("secret", "slurm-key", "slurm.key")),
                projected("ssh-host-keys", host_keys),
                projected("ssh-config", config),
                projected("sssd-conf", files_of("secret", "sssd", "sssd.conf", mode=0o600)),
            ],
        }
        annotations = {
            "kubectl.kubernetes.io/default-container": "login",
            HASH.format("ssh-host-keys"): sha(b"".join(keys.values())),
            HASH.format("sshd-conf"): sha(sshd.encode()),
            HASH.format("sssd-conf"): sha(b"[sssd]\n"),
        }
        template = {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod}
        texts = {"sshd_config": sshd}
        texts["authorized_keys"] = "#\n### SLINKY ###\nssh-ed25519 AAAA admin\n"
        data = secret(self.ns, "", keys)["data"]
        more = {"replicas": 1, "strategy": {"type": "Recreate"}}
        self.api.create(
            self.made("ConfigMap", f"{name}-ssh-config", owner, labels, data=texts),
            self.made("Secret", f"{name}-ssh-host-keys", owner, labels, data=data, immutable=True),
            self.service(name, owner, labels, "login", 22),
            self.made(
                "Deployment", name, owner, labels, spec=self.workload(labels, template, **more)
            ),
        )

    def upstream_token(self):
        """The Secret was owned by the one with the key."""
        key = self.api.get("Secret", self.ns, "jwt-key")["metadata"]
        owner = {"apiVersion": "v1", "kind": "Secret", "name": "jwt-key", "uid": key["uid"]}
        token = slurm_conf.token(self.slurm.key, "alice", 3600).encode()
        made = secret(self.ns, "robot-jwt-alice", {"SLURM_JWT": token})
        made["metadata"]["ownerReferences"] = [
            {**owner, "controller": True, "blockOwnerDeletion": True}
        ]
        spec = {"jwtKeyRef": KEYS["jwtKeyRef"], "username": "alice", "lifetime": "1h"}
        self.api.create(slinky("Token", self.ns, "robot", spec), made)

    def upstream_daemons(self, name: str, nodes: list[str]):
        """A NodeSet in DaemonSet mode with a pod on each of these nodes."""
        place = {"nodeSelector": {"pool": self.ns}}
        spec = nodeset(self.ns, name, scalingMode="DaemonSet", template={"spec": place})
        owner = self.api.create(spec)
        replace = {"$patch": "replace"}
        image = lambda one: {**replace, "name": "", "image": one, "resources": {}}  # noqa: E731
        data = {
            "extraConf": "",
            "logfile": image("alpine:1"),
            "ordinalPadding": 0,
            "oversubscribeNode": False,
            "slurmd": image("slurmd:1"),
            "ssh": {**replace, "enabled": False, "sssdConfRef": {"key": ""}},
            "template": {**replace, "metadata": {}, "spec": {"containers": None, **place}},
        }
        meta = {
            "name": f"{name}-6d9c7b5f4",
            "namespace": self.ns,
            "labels": {REVISION: "6d9c7b5f4"},
        }
        meta["ownerReferences"] = [self.reference(owner)]
        head = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1}
        self.api.create({**head, "metadata": meta, "data": {"spec": data}})
        for node in nodes:
            self.api.create(self.daemon_pod(owner, node, place))
        status = {"nodeSetHash": "6d9c7b5f4", "observedGeneration": 1, "replicas": len(nodes)}
        status["selector"] = f"app.kubernetes.io/instance={name},app.kubernetes.io/name=slurmd"
        self.api.patch("NodeSet", self.ns, name, {"status": status}, sub="status")

    @staticmethod
    def reference(owner: dict) -> dict:
        own = {key: owner[key] for key in ("apiVersion", "kind")}
        own |= {key: owner["metadata"][key] for key in ("name", "uid")}
        return {**own, "controller": True, "blockOwnerDeletion": True}

    def daemon_pod(self, owner: dict, node: str, place: dict) -> dict:
        name = owner["metadata"]["name"]
        labels = {
            "app.kubernetes.io/name": "slurmd",
            "app.kubernetes.io/instance": name,
            "app.kubernetes.io/component": "worker",
            "nodeset.slinky.slurm.net/pod-hostname": node,
            "nodeset.slinky.slurm.net/scaling-mode": "DaemonSet",
            "slinky.slurm.net/cluster": "slurm",
            REVISION: "6d9c7b5f4",
        }
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        spec = {"hostname": node, "subdomain": "slurm-workers-slurm", "affinity": affinity}
        spec |= {"containers": [{"name": "slurmd", "image": "slurmd:1"}], **place}
        meta = {"generateName": f"{name}-", "namespace": self.ns, "labels": labels}
        meta["ownerReferences"] = [self.reference(owner)]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}

    def everything(self) -> dict[str, str]:
        """The UIDs of all that must live on."""
        kinds = ("Pod", "Deployment", "StatefulSet", "Service", "ConfigMap", "Secret")
        return {
            f"{kind}/{one['metadata']['name']}": one["metadata"]["uid"]
            for kind in (*kinds, "ControllerRevision", "PodDisruptionBudget")
            for one in self.api.all(kind, self.ns)
        }

    def wait_running(self, count: int):
        running = lambda: [  # noqa: E731
            pod for pod in self.api.all("Pod", self.ns) if pod["status"]["phase"] == "Running"
        ]
        self.wait(lambda: len(running()) == count, lambda: f"{len(running())} pods run")

    def take_over(self):
        operator = self.start_operator(log=f"{self.ns}.log").wait_ready()
        self.addCleanup(operator.kill)

    def ready(self, kind: str, name: str) -> bool:
        found = self.api.get(kind, self.ns, name).get("status", {}).get("conditions", [])
        return any(c["type"] == "Ready" and c["status"] == "True" for c in found)

    def assert_lives_on(self, before: dict[str, str]):
        gone = lambda: before.items() - self.everything().items()  # noqa: E731
        self.stays(lambda: not gone(), lambda: f"lost: {gone()}", 8)

    def test_kinds(self):
        self.api.create(controller(self.ns))
        self.upstream_restapi()
        self.upstream_accounting()
        self.api.create(secret(self.ns, "sssd", {"sssd.conf": b"[sssd]\n"}))
        # Which address it gave of its own was not the same in all releases.
        server = f"--conf-server slurm-controller-0.slurm-controller-internal.{self.ns}:6817"
        self.upstream_loginset("plain", server)
        users = {"name": "SACKD_OPTIONS", "value": "--disable-reconfig"}
        self.upstream_loginset("login", users["value"], env=[users])
        self.upstream_token()
        self.wait_running(5)
        workloads = {
            "Deployment": ("rest-restapi", "login", "plain"),
            "StatefulSet": ("acct-accounting",),
        }
        templates = lambda: {  # noqa: E731
            name: template_of(self.api.get(kind, self.ns, name))
            for kind, names in workloads.items()
            for name in names
        }
        tokens = lambda: self.api.get("Secret", self.ns, "robot-jwt-alice")  # noqa: E731
        before, found, token = self.everything(), templates(), tokens()
        self.take_over()
        for kind, name in (
            ("RestApi", "rest"),
            ("Accounting", "acct"),
            ("LoginSet", "login"),
            ("LoginSet", "plain"),
            ("Token", "robot"),
        ):
            self.wait(lambda: self.ready(kind, name), f"{kind} is at work")
        self.assert_lives_on(before)
        self.maxDiff = None
        self.assertEqual(templates(), found)
        self.assertEqual(tokens()["data"], token["data"])
        (owner,) = tokens()["metadata"]["ownerReferences"]
        self.assertEqual((owner["kind"], owner["name"]), ("Token", "robot"))
        # From here on they are like any others.
        for kind, name in ("RestApi", "rest"), ("LoginSet", "login"):
            self.api.spec(kind, self.ns, name, replicas=3)
        self.wait_running(1 + 3 + 3 + 1 + 1)  # slurmctld is new here.
        self.assert_lives_on(before)
        self.assertEqual(templates(), found)

    def test_daemons(self):
        self.api.create(controller(self.ns))
        nodes = [self.kubelet.make_node(f"{self.ns}-n{n}", self.ns, pool=self.ns) for n in range(2)]
        name = f"{self.ns}w"
        self.upstream_daemons(name, nodes)
        self.wait_running(2)
        job = self.slurm.run_job(nodes[0])
        before = self.everything()
        self.take_over()
        self.wait(lambda: self.status().get("slurmAllocated") == 1, lambda: f"{self.status()}")
        self.assert_lives_on(before)
        self.assertEqual(self.status()["desired"], 2)
        self.assertEqual(self.status()["updatedReplicas"], 2)
        self.assertIn("RUNNING", self.slurm.job(job)["job_state"])
        new = self.kubelet.make_node(f"{self.ns}-n2", self.ns, pool=self.ns)
        self.wait(lambda: self.status().get("readyReplicas") == 3, lambda: f"{self.status()}")
        hashes = {pod["metadata"]["labels"][REVISION] for pod in self.pods().values()}
        self.assertEqual(hashes, {"6d9c7b5f4"})
        self.api.patch("Node", None, nodes[1], {"metadata": {"labels": {"pool": None}}})
        hosts = lambda: {pod["spec"]["hostname"] for pod in self.pods().values()}  # noqa: E731
        self.wait(lambda: hosts() == {nodes[0], new}, lambda: f"{hosts()}")
        self.assertIn("RUNNING", self.slurm.job(job)["job_state"])


if __name__ == "__main__":
    unittest.main()
