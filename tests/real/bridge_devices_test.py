"""Devices of DRA classes, by the numbers of the scenarios: what Slurm allocates is what a pod's ResourceClaim
says, against a real API server and a real slurmctld. The drivers are made up: their ResourceSlices are
written by hand. n1 has two GPUs, n2 has its CPUs as devices, n3 and n4 have neither. node1 has a slurmd and
two GPUs, and is no node of Kubernetes' unless a test makes it one."""

import json
import re
import socket
import unittest
from urllib.parse import urlsplit

from bridge_harness import JOB, KINDS, BridgeTest, pod_spec

KINDS |= {
    "DeviceClass": ("/apis/resource.k8s.io/v1", "deviceclasses", False),
    "ResourceClaim": ("/apis/resource.k8s.io/v1", "resourceclaims", True),
    "ResourceSlice": ("/apis/resource.k8s.io/v1", "resourceslices", False),
}
CLASS = "deviceclass.resource.kubernetes.io/"
GPU, CPU = "gpu.example.com", "dra.cpu"
H100, H100_DRIVER = "h100", "h100.example.com"  # Of node1, as dev/slurm makes them.
SHARED = {f"{JOB}exclusive": "false"}


def resource_slice(node: str, driver: str, devices: list[dict]) -> dict:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{driver}"},
        "spec": {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


def gpus(node: str, count: int, driver: str = GPU) -> dict:
    # In no order: their number counts.
    devices = [
        {"name": f"gpu-{i}", "attributes": {"index": {"int": i}}} for i in reversed(range(count))
    ]
    return resource_slice(node, driver, devices)


def cpus(node: str, cores: int) -> dict:
    """Two threads a core, numbered as Linux does it."""
    devices = []
    for cpu in range(2 * cores):
        numbers = {"cpuID": cpu, "coreID": cpu % cores, "socketID": 0}
        attributes = {f"{CPU}/{name}": {"int": number} for name, number in numbers.items()}
        devices.append({"name": f"cpudev{cpu:03}", "attributes": attributes})
    return resource_slice(node, CPU, devices)


class Devices(BridgeTest):
    cluster = "test-br-dra"
    slurm_flags = ("--nodes", "1", "--gpus", "2")
    config = f"deviceClasses: {{{H100}: {{driver: {H100_DRIVER}, attribute: index}}}}\n"

    @classmethod
    def install(cls):
        for name, driver in ((GPU, GPU), (CPU, CPU), (H100, H100_DRIVER)):
            expression = f"device.driver == '{driver}'"
            cls.api.create(
                {
                    "apiVersion": "resource.k8s.io/v1",
                    "kind": "DeviceClass",
                    "metadata": {"name": name},
                    "spec": {"selectors": [{"cel": {"expression": expression}}]},
                }
            )
        cls.api.create(gpus("n1", 2))
        cls.api.create(cpus("n2", 4))

    def device_pod(self, name: str, device: str, count: int, **more) -> str:
        spec = pod_spec()
        spec["containers"][0]["resources"] = {
            "limits": {f"{CLASS}{device}": str(count)},
            "requests": {"memory": "100Mi"},
        }
        meta = {"name": name, "namespace": self.ns, "annotations": SHARED | more}
        self.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        return name

    def claims(self) -> list[dict]:
        return self.api.all("ResourceClaim", self.ns)

    def claim(self, pod: str) -> dict:
        """The one that the pod's status names; the pod owns it, and has it for itself."""
        found = self.get(pod)
        status = found["status"]["extendedResourceClaimStatus"]
        claim = self.api.get("ResourceClaim", self.ns, status["resourceClaimName"])
        meta = claim["metadata"]
        self.assertEqual(
            meta["annotations"]["resource.kubernetes.io/extended-resource-claim"], "true"
        )
        self.assertTrue(meta["name"].startswith(f"{pod}-extended-resources-"))
        (owner,) = meta["ownerReferences"]
        self.assertEqual((owner["kind"], owner["uid"]), ("Pod", found["metadata"]["uid"]))
        (user,) = claim["status"]["reservedFor"]
        self.assertEqual((user["resource"], user["uid"]), ("pods", found["metadata"]["uid"]))
        return claim

    def devices(self, pod: str) -> list[str]:
        results = self.claim(pod)["status"]["allocation"]["devices"]["results"]
        return sorted(result["device"] for result in results)

    def given(self, pod: str) -> dict:
        """What Slurm says of its job on the one node."""
        (node,) = self.slurm.call(f"resources/{self.job_id(pod)}")["nodes"]
        return node

    def test_11_gpus_of_a_device_plugin_go_by_their_number(self):
        self.kubelet.make_external("plugin")
        self.addCleanup(self.remove_node, "plugin")
        amounts = {"nvidia.com/gpu": "4"}
        status = {"status": {"capacity": amounts, "allocatable": amounts}}
        self.api.patch("Node", None, "plugin", status, sub="status")
        gres = lambda: self.slurm.nodes().get("plugin", {}).get("gres", "")  # noqa: E731
        self.wait(lambda: "gpu" in gres() and ":4" in gres(), lambda: f"GPUs in Slurm: {gres()}")
        for name in ("a", "b", "c"):
            spec = pod_spec()
            spec["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "2"}
            meta = {"name": name, "namespace": self.ns, "annotations": SHARED}
            self.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
            if name != "c":
                (pod,) = self.wait_bound(name)
                self.assertEqual(pod["spec"]["nodeName"], "plugin")
        job = self.job(self.job_id("a"))
        self.assertEqual(job["tres_per_node"].replace("=", ":"), "gres/gpu:2")
        # Four are given out.
        self.wait_says("c", "Resources")
        self.wait(lambda: self.get("a")["status"]["phase"] == "Running", "it runs")
        self.finish("a")
        self.wait_bound("c")
        self.assertEqual(self.claims(), [])

    def test_12_a_gpu_is_the_one_that_slurm_allocated(self):
        self.assertEqual(self.slurm.node("n1")["gres"], f"gpu:{GPU}:2")
        self.device_pod("a", GPU, 1)
        (pod,) = self.wait_bound("a")
        self.assertEqual(pod["spec"]["nodeName"], "n1")
        self.assertEqual(self.job(self.job_id("a"))["tres_per_node"], f"gres/gpu:{GPU}=1")
        mapping = {"containerName": "main", "resourceName": f"{CLASS}{GPU}", "requestName": "gpu"}
        status = pod["status"]["extendedResourceClaimStatus"]
        self.assertEqual(status["requestMappings"], [mapping])
        claim = self.claim("a")
        (request,) = claim["spec"]["devices"]["requests"]
        self.assertEqual(request["exactly"]["deviceClassName"], GPU)
        allocation = claim["status"]["allocation"]
        index = self.given("a")["gres"][0]["index"]
        result = {"request": "gpu", "driver": GPU, "pool": "n1", "device": f"gpu-{index}"}
        self.assertEqual(allocation["devices"]["results"], [result])
        term = allocation["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]
        self.assertEqual(term["values"], ["n1"])

        self.device_pod("b", GPU, 1)
        self.wait_bound("b")
        self.assertEqual(self.devices("b"), [f"gpu-{self.given('b')['gres'][0]['index']}"])
        self.assertNotEqual(self.devices("a"), self.devices("b"))

        # The third waits for Slurm, and gets what the first had, whose claim is gone.
        self.device_pod("c", GPU, 1)
        self.wait_says("c", "is waiting")
        had = self.devices("a")
        self.wait(lambda: self.get("a")["status"]["phase"] == "Running", "it runs")
        self.finish("a")
        self.wait_bound("c")
        self.assertEqual(self.devices("c"), had)
        self.assertEqual(len(self.claims()), 2)

    def test_12b_a_node_of_ones_own_gives_no_more_devices_than_asked_for(self):
        self.device_pod("p", GPU, 1, **{f"{JOB}exclusive": "true"})
        self.wait_bound("p")
        self.assertEqual(self.devices("p"), ["gpu-0"])

    def test_12c_pods_of_one_job_on_one_node_share_its_devices(self):
        meta = {"name": "work", "namespace": self.ns}
        meta["annotations"] = SHARED | {"mainspring.slurm.net/tasks-per-node": "2"}
        spec = pod_spec()
        spec["containers"][0]["resources"] = {"limits": {f"{CLASS}{GPU}": "1"}}
        template = {"metadata": {"annotations": {"mainspring.slurm.net/gang": "Job"}}, "spec": spec}
        body = {"parallelism": 2, "completions": 2, "template": template}
        self.api.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": body})
        self.wait(lambda: len(self.api.all("Pod", self.ns)) == 2, "two pods")
        names = [pod["metadata"]["name"] for pod in self.api.all("Pod", self.ns)]
        self.wait_bound(*names)
        self.assertEqual(len(self.live_jobs()), 1)
        self.assertEqual(
            sorted(self.devices(names[0]) + self.devices(names[1])), ["gpu-0", "gpu-1"]
        )

    def native(self) -> str:
        """A job of Slurm's own that wants a GPU of node1. Its number."""
        argv = ["sbatch", "--parsable", "-p", "compute", "--gres", f"gpu:{H100}:1", "--mem", "100"]
        argv += ["-o", "/dev/null", "--wrap", "sleep 600"]
        return self.slurm.instance.sandbox.output(argv).strip()

    def wait_native(self, number: str) -> str:
        """Which GPU it has, once it runs."""
        self.wait(
            lambda: self.job(number)["job_state"] == ["RUNNING"],
            lambda: f"{number} runs: {self.job(number)['state_reason']}",
        )
        return re.search(r"IDX:(\d+)\)", self.job(number)["gres_detail"][0])[1]

    def test_12d_jobs_of_slurms_own_and_pods_have_the_gpus_of_one_node_at_a_time(self):
        self.kubelet.make_node("node1")
        self.addCleanup(self.api.delete, "Node", None, "node1")
        self.api.create(gpus("node1", 2, H100_DRIVER))
        self.addCleanup(self.api.delete, "ResourceSlice", None, f"node1-{H100_DRIVER}")
        there = {f"{JOB}partition": "compute"}
        first = self.native()
        self.assertEqual(self.wait_native(first), "0")
        self.device_pod("a", H100, 1, **there)
        (pod,) = self.wait_bound("a")
        self.assertEqual(pod["spec"]["nodeName"], "node1")
        self.assertEqual(self.devices("a"), ["gpu-1"])

        # The next pod gets what the job had, and the next job what the first pod had.
        self.device_pod("b", H100, 1, **there)
        self.wait_says("b", "Resources")
        self.cancel(first)
        self.wait_bound("b")
        self.assertEqual(self.devices("b"), ["gpu-0"])
        second = self.native()
        self.wait(
            lambda: self.job(second)["state_reason"] == "Resources",
            lambda: f"{second} waits: {self.job(second)}",
        )
        self.wait(lambda: self.get("a")["status"]["phase"] == "Running", "it runs")
        self.finish("a")
        self.assertEqual(self.wait_native(second), "1")
        self.assertEqual(self.devices("b"), ["gpu-0"])

    def test_13_cpus_are_those_of_the_cores_that_slurm_allocated(self):
        node = self.slurm.node("n2")
        shape = (node["sockets"], node["cores"], node["threads"], node["cpus"])
        self.assertEqual(shape, (1, 4, 2, 8))
        self.device_pod("a", CPU, 2)
        self.device_pod("b", CPU, 3)
        for pod, count in zip(self.wait_bound("a", "b"), (2, 3)):
            self.assertEqual(pod["spec"]["nodeName"], "n2")  # The only one with such devices.
            name = pod["metadata"]["name"]
            job = self.job(self.job_id(name))
            self.assertEqual(job["cpus_per_task"]["number"], count)
            bits = int(self.given(name)["core_bitmap"], 16)
            cores = [core for core in range(4) if bits >> core & 1]
            expected = sorted(f"cpudev{cpu:03}" for core in cores for cpu in (core, core + 4))
            self.assertEqual(self.devices(name), expected)
        self.assertFalse(set(self.devices("a")) & set(self.devices("b")))

    def test_14_classes_that_nobody_knows_and_claims_of_ones_own_wait_with_a_word(self):
        self.device_pod("p", "tpu.example.com", 1)
        self.wait_says("p", "tpu.example.com", "deviceClasses")
        spec = pod_spec()
        spec["resourceClaims"] = [{"name": "x", "resourceClaimName": "mine"}]
        meta = {"name": "q", "namespace": self.ns}
        self.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        self.wait_says("q", "spec.resourceClaims", "limits")
        self.assertEqual(self.jobs(), [])

    def test_36_a_device_that_a_claim_has_is_given_to_nobody_else(self):
        # Somebody's, of whom Slurm knows nothing.
        meta = {"name": "theirs", "namespace": self.ns}
        request = {"name": "r", "exactly": {"deviceClassName": GPU}}
        spec = {"devices": {"requests": [request]}}
        body = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
        self.api.create(body | {"metadata": meta, "spec": spec})
        device = {"request": "r", "driver": GPU, "pool": "n1", "device": "gpu-0"}
        user = {"resource": "pods", "name": "other", "uid": "0-0"}
        status = {"allocation": {"devices": {"results": [device]}}, "reservedFor": [user]}
        change = {"status": status}
        self.api.patch("ResourceClaim", self.ns, "theirs", change, sub="status")
        self.device_pod("p", GPU, 2)
        self.wait_says("p", "gpu-0", f"ResourceClaim {self.ns}/theirs")
        self.stays(lambda: not self.get("p")["spec"].get("nodeName"), "it has no node")

        self.api.delete("ResourceClaim", self.ns, "theirs")
        self.wait_bound("p")
        self.assertEqual(self.devices("p"), ["gpu-0", "gpu-1"])

    def test_35_a_device_that_no_slice_has_keeps_the_pod_unbound(self):
        # A node of an administrator's, in Slurm with GPUs and without a driver in Kubernetes.
        self.kubelet.make_node("n5")
        self.addCleanup(self.remove_node, "n5")
        line = "NodeName=n5 NodeAddr=127.0.1.99 Sockets=1 CoresPerSocket=4 CPUs=4 RealMemory=8000"
        line += f' State=External Feature=slurm-bridge Gres="gpu:{GPU}:3"'
        line += f' GresConf="count=3,name=gpu,type={GPU},file=/dev/x[0-2]"'
        self.slurm.call("new/node/", "POST", {"node_conf": line})
        self.addCleanup(self.slurm.call, "node/n5", "DELETE")
        self.device_pod("p", GPU, 3)
        self.wait_says("p", "n5", "ResourceSlices have 0")
        first = self.wait(lambda: self.jobs() and self.jobs()[0]["job_id"], "it had a job")
        events = lambda: [e["reason"] for e in self.api.all("Event", self.ns)]  # noqa: E731
        self.wait(lambda: "DevicesNotClaimed" in events(), lambda: f"an event: {events()}")
        # Kept for a while, and then others may have it.
        self.wait_ended(str(first))
        self.wait(lambda: "CannotBeBound" in events(), lambda: f"an event: {events()}")
        self.assertFalse(self.get("p")["spec"].get("nodeName"))
        self.assertEqual(self.claims(), [])

        self.api.create(gpus("n5", 3))
        self.addCleanup(self.api.delete, "ResourceSlice", None, f"n5-{GPU}")
        self.wait_bound("p")
        self.assertEqual(self.devices("p"), ["gpu-0", "gpu-1", "gpu-2"])
        self.api.delete("Pod", self.ns, "p", gracePeriodSeconds=1)
        self.wait_gone("p")

    def test_24_a_bridge_that_dies_between_claim_and_bind_makes_no_second_one(self):
        """Whoever binds a pod waits for somebody who never answers; the claim is made before."""
        silent = socket.create_server(("", 0))
        self.addCleanup(silent.close)
        server = urlsplit(
            json.loads(self.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        )
        with socket.create_connection((server.hostname, server.port)) as seen_from_there:
            address = seen_from_there.getsockname()[0]
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
        hook = {
            "name": "no.binding.test",
            "rules": [rule | {"resources": ["pods/binding"]}],
            "clientConfig": {"url": f"https://{address}:{silent.getsockname()[1]}/"},
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 30,
        }
        body = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "no-binding"}}
        kind = "ValidatingWebhookConfiguration"
        self.api.create(body | {"kind": kind, "webhooks": [hook]})
        try:
            self.device_pod("p", GPU, 1)
            self.wait(
                lambda: self.get("p")["status"].get("extendedResourceClaimStatus"), "it has a claim"
            )
            self.bridge.kill()
            before = self.claim("p")
            self.assertFalse(self.get("p")["spec"].get("nodeName"))
        finally:
            self.api.delete(kind, None, "no-binding")
        type(self).bridge = self.start_bridge()
        self.wait_bound("p")
        self.assertEqual(len(self.jobs()), 1)
        (claim,) = self.claims()
        self.assertEqual(claim["metadata"]["uid"], before["metadata"]["uid"])
        self.assertEqual(claim["status"], before["status"])


if __name__ == "__main__":
    unittest.main()
