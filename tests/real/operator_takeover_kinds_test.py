"""Login pods, slurmrestd, slurmdbd, tokens and workers that follow nodes, as the operator before us left
them: ours starts, nothing is restarted or made anew, and they scale as any others."""

import hashlib
import re
import unittest

import yaml

from clusters import REPO
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

from msdev import slurm_conf

DATA = REPO / "tests" / "data" / "operator"
KEY = b"s" * 1024
OURS = "mainspring.slurm.net/"
HASH = "slinky.slurm.net/{}-hash"
# The files that the unit tests compare with have other names for what they refer to.
NAMES = {
    "auth-slurm": "slurm-key",
    "auth-jwt": "jwt-key",
    "c-config": "slurm-config",
    "name: c}": "name: slurm}",
    "slurm-workers-c.slurm.": "slurm-workers-slurm.NS.",
}


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def with_numbers(value):
    """YAML 1.1 has no 0o600."""
    if isinstance(value, dict):
        return {key: with_numbers(one) for key, one in value.items()}
    if isinstance(value, list):
        return [with_numbers(one) for one in value]
    is_octal = isinstance(value, str) and re.fullmatch(r"0o[0-7]+", value)
    return int(value[2:], 8) if is_octal else value


def template_of(workload: dict) -> dict:
    return workload["spec"]["template"]


def pod_of(workload: dict) -> dict:
    return template_of(workload)["spec"]


class OperatorTakeOverKindsTest(OperatorTest):
    cluster = "test-op-took-over"
    with_operator = False

    def load(self, path: str) -> dict:
        """The first object of a file, in this namespace."""
        text = (DATA / path).read_text()
        for name, here in NAMES.items():
            text = text.replace(name, here.replace("NS", self.ns))
        found = with_numbers(next(yaml.safe_load_all(text)))
        found["metadata"]["namespace"] = self.ns
        return found

    def made_by_upstream(self, path: str, owner: dict, hashes: dict[str, str] | None = None):
        """What our operator would write, without what only ours does: `hashes` are upstream's."""
        found = self.load(path)
        found["metadata"]["ownerReferences"][0]["uid"] = owner["metadata"]["uid"]
        marks = found["metadata"].get("annotations", {})
        found["metadata"]["annotations"] = {k: v for k, v in marks.items() if OURS not in k}
        if hashes is not None:
            annotations = template_of(found)["metadata"]["annotations"]
            own = {k: v for k, v in annotations.items() if not k.endswith("-hash")}
            named = {HASH.format(k): v for k, v in hashes.items()}
            template_of(found)["metadata"]["annotations"] = own | named
        return found

    def upstream_restapi(self):
        """Without the readiness probe of the file, of which upstream makes what no server takes."""
        spec = self.load("restapi/input.yaml")
        del spec["spec"]["slurmrestd"]["readinessProbe"]
        owner = self.api.create(spec)
        deployment = self.made_by_upstream("restapi/deployment.yaml", owner, hashes={})
        del pod_of(deployment)["containers"][0]["readinessProbe"]["periodSeconds"]
        self.api.create(self.made_by_upstream("restapi/service.yaml", owner), deployment)

    def upstream_accounting(self):
        """The template's metadata was not handed on to the pods."""
        spec = self.load("accounting/input.yaml")
        del spec["spec"]["template"]["spec"]
        owner = self.api.create(spec)
        conf = (DATA / "accounting" / "slurmdbd.conf").read_bytes()
        keys = {"slurm-key": sha(KEY), "jwt-key": sha(self.slurm.key)}
        stateful_set = self.made_by_upstream(
            "accounting/statefulset.yaml", owner, {"slurmdbd-conf": sha(conf), **keys}
        )
        del pod_of(stateful_set)["priorityClassName"]
        del template_of(stateful_set)["metadata"]["annotations"]["example.com/scrape"]
        service = self.made_by_upstream("accounting/service.yaml", owner)
        files = secret(self.ns, "acct-accounting", {"slurmdbd.conf": conf})
        files["metadata"] |= {k: service["metadata"][k] for k in ("labels", "ownerReferences")}
        self.api.create(
            secret(self.ns, "mariadb", {"password": b"secret"}),
            config_map(self.ns, "idp", {"keys.json": "{}"}),
            files,
            service,
            stateful_set,
        )

    def upstream_loginset(self):
        """The user's SACKD_OPTIONS stood in the place of the operator's own."""
        self.api.create(secret(self.ns, "sssd", {"sssd.conf": b"[sssd]\n"}))
        owner = self.api.create(self.load("loginset/input.yaml"))
        config = self.made_by_upstream("loginset/ssh-config.yaml", owner)
        names = [f"ssh_host_{k}_key{p}" for k in ("ecdsa", "ed25519", "rsa") for p in ("", ".pub")]
        keys = {name: name.encode() for name in names}
        host_keys = secret(self.ns, "login-ssh-host-keys", keys) | {"immutable": True}
        host_keys["metadata"] |= {k: config["metadata"][k] for k in ("labels", "ownerReferences")}
        deployment = self.made_by_upstream(
            "loginset/deployment.yaml",
            owner,
            {
                "ssh-host-keys": sha(b"".join(keys.values())),
                "sshd-conf": sha(config["data"]["sshd_config"].encode()),
                "sssd-conf": sha(b"[sssd]\n"),
            },
        )
        pod = pod_of(deployment)
        pod["containers"][0]["env"][0]["value"] = "--disable-reconfig"
        pod["initContainers"][0]["command"] = ["sh", "-c", "cp /mnt/slurm/* /mnt/etc/slurm"]
        service = self.made_by_upstream("loginset/service.yaml", owner)
        self.api.create(config, host_keys, service, deployment)

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
            for kind in (*kinds, "ControllerRevision")
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
        self.upstream_loginset()
        self.upstream_token()
        self.wait_running(4)
        workloads = {"Deployment": ("rest-restapi", "login"), "StatefulSet": ("acct-accounting",)}
        templates = lambda: {  # noqa: E731
            name: template_of(self.api.get(kind, self.ns, name))
            for kind, names in workloads.items()
            for name in names
        }
        tokens = lambda: self.api.get("Secret", self.ns, "robot-jwt-alice")  # noqa: E731
        before, found, token = self.everything(), templates(), tokens()
        self.take_over()
        for kind, name in {
            "RestApi": "rest",
            "Accounting": "acct",
            "LoginSet": "login",
            "Token": "robot",
        }.items():
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
        self.wait_running(1 + 3 + 3 + 1)  # slurmctld is new here.
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
