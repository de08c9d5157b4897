"""End to end: Slurm as plain pods on a two-node Kubernetes runs a job, and nothing stays behind."""

import json
import unittest
import urllib.request

from cluster_case import ClusterCase

from msdev.plain_slurm import PlainSlurm
from msdev.process import wait_for

CLUSTER = "test-e2e"


class PlainSlurmTest(ClusterCase):
    cluster_name = CLUSTER

    @classmethod
    def install_all(cls):
        cls.slurm = PlainSlurm(CLUSTER)
        cls.slurm.load_images()
        cls.slurm.deploy()
        cls.slurm.wait_ready()

    def test_a_job_runs_on_both_workers(self):
        self.assertEqual(self.slurm.run_job(), ["slurm-worker-0", "slurm-worker-1"])

    def test_the_workers_are_on_different_kubernetes_nodes(self):
        nodes = self.slurm.kubectl(
            *("-n", "slurm", "get", "pods", "-l", "app=slurmd"),
            *("-o", "jsonpath={.items[*].spec.nodeName}"),
        )
        self.assertEqual(len(set(nodes.split())), 2, nodes)

    def test_a_worker_offers_what_its_pod_may_use(self):
        node = json.loads(self.slurm.slurm("scontrol", "show", "node", "slurm-worker-0", "--json"))
        node = node["nodes"][0]
        self.assertEqual(node["cpus"] - node["specialized_cores"], 2)
        self.assertEqual(node["real_memory"] - node["specialized_memory"], 1024)

    def test_the_rest_api_answers_with_a_token(self):
        address = self.slurm.service_address("slurm-restapi")
        request = urllib.request.Request(
            f"http://{address}:6820/slurm/v0.0.45/nodes/",
            headers={"X-SLURM-USER-TOKEN": self.slurm.token(), "X-SLURM-USER-NAME": "slurm"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            nodes = json.load(answer)["nodes"]
        self.assertEqual(sorted(n["name"] for n in nodes), ["slurm-worker-0", "slurm-worker-1"])

    def test_a_job_survives_a_restart_of_the_controller(self):
        job = self.slurm.slurm("sbatch", "--parsable", "-N1", "--wrap", "sleep 12").strip()
        self.assertTrue(wait_for(lambda: self.state_of(job) == ["RUNNING"], 30, 0.5))
        self.slurm.kubectl("-n", "slurm", "delete", "pod", "slurm-controller-0")
        self.slurm.wait_ready()
        self.assertTrue(wait_for(lambda: self.state_of(job) == ["COMPLETED"], 60, 0.5, seldom=2.0))

    def state_of(self, job: str) -> list[str]:
        answer = json.loads(self.slurm.slurm("scontrol", "show", "job", job, "--json"))
        return answer["jobs"][0]["job_state"]


if __name__ == "__main__":
    unittest.main()
