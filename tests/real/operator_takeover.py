"""A Controller and a NodeSet as the operator before us wrote them, with pods that run: ours starts, nobody
is restarted, and the NodeSet scales as any other. A part of operator_takeover_test.py."""

import hashlib

from clusters import REPO
from operator_harness import REVISION, controller, nodeset


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class TakesNodeSetsOver:
    def meta(self, name: str, app: str, component: str, instance: str, owner: dict, **more) -> dict:
        labels = {
            "app.kubernetes.io/name": app,
            "app.kubernetes.io/instance": instance,
            "app.kubernetes.io/component": component,
        }
        reference = {
            "apiVersion": "slinky.slurm.net/v1beta1",
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        meta = {"name": name, "namespace": self.ns, "labels": {**labels, **more}}
        return {**meta, "ownerReferences": [reference]}

    def upstream_files(self, nodeset_name: str) -> dict[str, str]:
        """The namespace of the files that the unit tests compare with is hpc."""
        folder = REPO / "tests" / "data" / "operator" / "controller" / "taken-over"
        conf = (folder / "slurm.conf").read_text().replace("hpc", self.ns)
        conf += f"#\n### NODESET & PARTITION ###\nNodeSet={nodeset_name} Feature={nodeset_name}\n"
        return {"cgroup.conf": (folder / "cgroup.conf").read_text(), "slurm.conf": conf}

    def upstream_controller(self, nodeset_name: str) -> dict:
        owner = self.api.create(controller(self.ns))
        meta = lambda name: self.meta(name, "slurmctld", "controller", "slurm", owner)  # noqa: E731
        selector = {"app.kubernetes.io/name": "slurmctld", "app.kubernetes.io/instance": "slurm"}
        active = {"controller.slinky.slurm.net/active": "true"}
        port = {"name": "slurmctld", "port": 6817, "protocol": "TCP", "targetPort": "slurmctld"}
        files = self.upstream_files(nodeset_name)
        head = {"apiVersion": "v1", "kind": "Service"}
        internal = {"clusterIP": "None", "publishNotReadyAddresses": True}
        self.api.create(
            {
                **head,
                "metadata": meta("slurm-controller-internal"),
                "spec": {**internal, "selector": selector, "ports": [port]},
            },
            {
                **head,
                "metadata": meta("slurm-controller"),
                "spec": {"selector": {**selector, **active}, "ports": [port]},
            },
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": meta("slurm-config"),
                "data": files,
            },
        )
        template = {"metadata": self.slurmctld_meta(files), "spec": self.slurmctld_pod()}
        return self.api.create(
            {
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "metadata": meta("slurm-controller"),
                "spec": {
                    "replicas": 1,
                    "revisionHistoryLimit": 0,
                    "serviceName": "slurm-controller-internal",
                    "selector": {"matchLabels": selector},
                    "template": template,
                },
            }
        )

    def slurmctld_meta(self, files: dict[str, str]) -> dict:
        labels = {
            "app.kubernetes.io/name": "slurmctld",
            "app.kubernetes.io/instance": "slurm",
            "app.kubernetes.io/component": "controller",
        }
        annotations = {
            "kubectl.kubernetes.io/default-container": "slurmctld",
            "slinky.slurm.net/slurm-config-hash": sha("".join(files.values()).encode()),
            "slinky.slurm.net/slurm-key-hash": sha(b"s" * 1024),
            "slinky.slurm.net/jwt-key-hash": sha(self.slurm.key),
        }
        name = {"name": "slurm-controller", "namespace": self.ns}
        return {**name, "labels": labels, "annotations": annotations}

    def slurmctld_pod(self) -> dict:
        live = {"failureThreshold": 6, "periodSeconds": 10}
        live["httpGet"] = {"path": "/livez", "port": "slurmctld"}
        user = {"runAsNonRoot": True, "runAsUser": 401, "runAsGroup": 401}
        own = {"app.kubernetes.io/name": "slurmctld", "app.kubernetes.io/instance": "slurm"}
        term = {"labelSelector": {"matchLabels": own}, "topologyKey": "kubernetes.io/hostname"}
        key = lambda name, path: {  # noqa: E731
            "secret": {"name": name, "items": [{"key": path, "path": path}]}
        }
        memory = {"emptyDir": {"medium": "Memory"}}
        return {
            "automountServiceAccountToken": False,
            "affinity": {
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            },
            "securityContext": {**user, "fsGroup": 401},
            "containers": [
                {
                    "name": "slurmctld",
                    "image": "slurmctld:1",
                    "ports": [{"name": "slurmctld", "containerPort": 6817, "protocol": "TCP"}],
                    "startupProbe": live,
                    "livenessProbe": live,
                    "readinessProbe": {"httpGet": {"path": "/readyz", "port": "slurmctld"}},
                    "securityContext": user,
                    "volumeMounts": [
                        {"name": "slurm-etc", "mountPath": "/etc/slurm", "readOnly": True},
                        {"name": "run", "mountPath": "/run"},
                        {
                            "name": "statesave",
                            "mountPath": f"/var/spool/slurmctld/{self.ns}_slurm",
                        },
                        {"name": "slurm-authsocket", "mountPath": "/run/slurmctld"},
                        {"name": "slurm-logfile", "mountPath": "/var/log/slurm"},
                    ],
                }
            ],
            "initContainers": [
                {
                    "name": "logfile",
                    "image": "alpine:1",
                    "restartPolicy": "Always",
                    "env": [{"name": "SOCKET", "value": "/var/log/slurm/slurmctld.log"}],
                    "command": ["sh", "-c", "cat"],
                    "volumeMounts": [{"name": "slurm-logfile", "mountPath": "/var/log/slurm"}],
                }
            ],
            "volumes": [
                {
                    "name": "slurm-etc",
                    "projected": {
                        "defaultMode": 0o610,
                        "sources": [
                            {"configMap": {"name": "slurm-config"}},
                            key("slurm-key", "slurm.key"),
                            key("jwt-key", "jwt.key"),
                        ],
                    },
                },
                {"name": "slurm-logfile", **memory},
                {"name": "run", **memory},
                {"name": "slurm-authsocket", "emptyDir": {}},
                {"name": "statesave", "emptyDir": {}},
            ],
        }

    def upstream_nodeset(self, name: str, replicas: int) -> dict:
        owner = self.api.create(nodeset(self.ns, name, replicas=replicas))
        uid = owner["metadata"]["uid"]
        data = {
            "spec": {
                "extraConf": "",
                "logfile": {
                    "$patch": "replace", "name": "", "image": "alpine:1", "resources": {},
                },
                "ordinalPadding": 0,
                "oversubscribeNode": False,
                "slurmd": {
                    "$patch": "replace", "name": "", "image": "slurmd:1", "resources": {},
                },
                "ssh": {"$patch": "replace", "enabled": False, "sssdConfRef": {"key": ""}},
                "template": {
                    "$patch": "replace", "metadata": {}, "spec": {"containers": None},
                },
            }
        }  # fmt: skip
        revision = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1}
        meta = self.meta(f"{name}-6d9c7b5f4", "slurmd", "worker", name, owner)
        meta["labels"] = {REVISION: "6d9c7b5f4"}
        self.api.create({**revision, "metadata": meta, "data": data})
        shared = {
            **self.meta("", "slurmd", "worker", name, owner),
            "name": "slurm-workers-pdb-slurm",
        }
        shared["ownerReferences"][0] |= {"controller": False}
        selector = {
            "nodeset.slinky.slurm.net/pod-protect": "true",
            "slinky.slurm.net/cluster": "slurm",
        }
        self.api.create(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": shared,
                "spec": {"maxUnavailable": 0, "selector": {"matchLabels": selector}},
            }
        )
        for n in range(replicas):
            own = {
                "nodeset.slinky.slurm.net/pod-name": f"{name}-{n}",
                "nodeset.slinky.slurm.net/pod-index": f"{n}",
                "nodeset.slinky.slurm.net/pod-hostname": f"{name}-{n}",
                "nodeset.slinky.slurm.net/scaling-mode": "StatefulSet",
                "slinky.slurm.net/cluster": "slurm",
                REVISION: "6d9c7b5f4",
            }
            meta = self.meta(f"{name}-{n}", "slurmd", "worker", name, owner, **own)
            spec = {"hostname": f"{name}-{n}", "subdomain": "slurm-workers-slurm"}
            spec["containers"] = [{"name": "slurmd", "image": "slurmd:1"}]
            self.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        status = {
            "nodeSetHash": "6d9c7b5f4",
            "selector": f"app.kubernetes.io/instance={name},app.kubernetes.io/name=slurmd",
        }
        status |= {"replicas": replicas, "observedGeneration": 1}
        self.api.patch("NodeSet", self.ns, name, {"status": status}, sub="status")
        self.assertTrue(uid)
        return owner

    def test_nobody_is_restarted(self):
        name = f"{self.ns.replace('-', '')[:12]}w"
        self.upstream_controller(name)
        self.upstream_nodeset(name, 3)
        self.wait_running(4)
        job = self.slurm.run_job(f"{name}-1")
        before = self.everything()
        template = self.api.get("StatefulSet", self.ns, "slurm-controller")["spec"]["template"]
        self.take_over()
        status = lambda: self.api.get("NodeSet", self.ns, name).get("status", {})  # noqa: E731
        self.wait(lambda: status().get("slurmIdle") == 2, lambda: f"it is at work: {status()}")
        now = self.api.get("StatefulSet", self.ns, "slurm-controller")["spec"]["template"]
        self.maxDiff = None
        self.assertEqual(template, now)
        self.assert_lives_on(before)
        self.assertEqual(status()["updatedReplicas"], 3)
        self.assertIn("RUNNING", self.slurm.job(job)["job_state"])
        budget = self.api.get("PodDisruptionBudget", self.ns, "slurm-workers-pdb-slurm")["spec"]
        self.assertEqual(budget.get("minAvailable"), 2**31 - 1)
        # From here on it is a NodeSet like any other.
        self.api.spec("NodeSet", self.ns, name, replicas=4)
        self.wait(lambda: len(self.pods(name)) == 4, "scale-out")
        self.wait(lambda: status().get("slurmIdle") == 3, lambda: f"{status()}")
        hashes = {p["metadata"]["labels"][REVISION] for p in self.pods(name).values()}
        self.assertEqual(hashes, {"6d9c7b5f4"})
        self.api.spec("NodeSet", self.ns, name, replicas=2)
        wanted = {f"{name}-0", f"{name}-1"}
        self.wait(lambda: set(self.pods(name)) == wanted, lambda: f"{set(self.pods(name))}")
        self.assertIn("RUNNING", self.slurm.job(job)["job_state"])
