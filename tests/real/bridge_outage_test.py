"""What pods and jobs go through while Slurm, or the way to it, is away: scenario 24 and the token of 25, by
their letters, against a real API server and a real slurmctld. Whatever is away, nothing that runs is ended,
nothing is asked for twice, and all goes on by itself. Also what Slurm is asked for at all, as all of it goes
through here."""

import contextlib
import re
import time
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from bridge_harness import JOB_ID, BridgeTest
from operator_kube import Refused
from operator_slurm import RestProxy, short_lived


class Outage(BridgeTest):
    cluster = "test-br-outage"

    @classmethod
    def write_files(cls):
        cls.proxy = RestProxy(cls.slurm.url)
        cls.addClassCleanup(cls.proxy.close)
        super().write_files()
        text = cls.config_file.read_text()
        cls.config_file.write_text(text.replace(cls.slurm.url, cls.proxy.url))

    def setUp(self):
        super().setUp()
        self.addCleanup(self.proxy.loses.clear)

    def set_scene(self):
        """One pod runs and one waits, for whoever holds the other nodes."""
        self.pod("runs")
        self.wait_bound("runs")
        self.wait(lambda: self.get("runs")["status"]["phase"] == "Running", "it runs")
        node = self.get("runs")["spec"]["nodeName"]
        self.others = self.fill(*(name for name in self.nodes if name != node))
        self.pod("waits")
        self.wait_job("waits")
        self.numbers = {name: self.job_id(name) for name in ("runs", "waits")}
        self.uid = self.get("runs")["metadata"]["uid"]

    def is_at_work(self) -> bool:
        meta = self.get("runs")["metadata"]
        return meta["uid"] == self.uid and "deletionTimestamp" not in meta

    def endure(self, seconds: float):
        """Slurm cannot be asked, and one more pod comes."""
        self.pod("later")
        self.stays(self.is_at_work, "it runs on", seconds)
        self.assertFalse(self.job_id("later"))

    def go_on(self):
        """Each of the three has one job, those that had one the same."""
        self.wait_job("later")
        self.cancel(self.others)
        self.wait_bound("waits", "later")
        for name, number in self.numbers.items():
            self.assertEqual(self.job_id(name), number)
        self.assertEqual(len(self.live_jobs()), 3, self.live_jobs())
        self.assertTrue(self.is_at_work())

    def test_24e_slurmrestd_alone_is_away(self):
        self.set_scene()
        self.slurm.kill_slurmrestd()
        # Longer than what is known of jobs counts as fresh.
        self.endure(35.0)
        self.slurm.start_slurmrestd()
        self.go_on()

    def test_24f_an_answer_that_is_lost_means_no_second_job(self):
        for path in ("job/allocate", "job/submit"):
            with self.subTest(path):
                name = path.removeprefix("job/")
                others = self.fill(*self.nodes) if name == "submit" else ""
                self.wait_seen()
                self.proxy.loses.append(path)
                self.pod(name)
                self.wait_job(name)
                self.assertEqual(self.proxy.loses, [])
                self.stays(lambda name=name: len(self.of(name)) == 1, "one job", 3.0)
                if others:
                    self.cancel(others)
                self.wait_bound(name)
                self.api.delete("Pod", self.ns, name)
                self.wait_gone(name)

    def of(self, name: str) -> list[dict]:
        return [j for j in self.live_jobs() if f'"{self.ns}/{name}"' in j["admin_comment"]]

    def test_24g_slurmctld_that_ends_after_it_took_a_job_has_it_when_it_is_back(self):
        others = self.fill(*self.nodes)
        self.proxy.loses.append("job/submit")
        self.pod("p")
        self.wait(lambda: not self.proxy.loses, "the job is asked for")
        self.slurm.stop_slurmctld()
        time.sleep(5.0)
        self.slurm.start_slurmctld()
        self.wait_job("p")
        self.stays(lambda: len(self.of("p")) == 1, lambda: f"one job: {self.of('p')}", 3.0)
        self.cancel(others)
        self.wait_bound("p")
        self.assertEqual(len(self.of("p")), 1)

    @contextlib.contextmanager
    def nobody_may_mark(self):
        """The API server refuses every change of a pod that has our label."""
        group = "admissionregistration.k8s.io/v1"
        rules = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]
        rules[0]["operations"] = ["UPDATE"]
        self.api.create(
            {
                "apiVersion": group,
                "kind": "ValidatingAdmissionPolicy",
                "metadata": {"name": "no-marks"},
                "spec": {
                    "matchConstraints": {"resourceRules": rules},
                    "validations": [
                        {
                            "expression": f"!('{JOB_ID}' in object.metadata.?labels.orValue({{}}))",
                            "message": "no marks today",
                        }
                    ],
                },
            },
            {
                "apiVersion": group,
                "kind": "ValidatingAdmissionPolicyBinding",
                "metadata": {"name": "no-marks"},
                "spec": {"policyName": "no-marks", "validationActions": ["Deny"]},
            },
        )
        try:
            self.wait(self.is_refused, "marks are refused")
            yield
        finally:
            for kind in ("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"):
                self.api.delete(kind, None, "no-marks")

    def is_refused(self) -> bool:
        try:
            self.api.patch("Pod", self.ns, "other", {"metadata": {"labels": {JOB_ID: "1"}}})
        except Refused:
            return True
        self.api.patch("Pod", self.ns, "other", {"metadata": {"labels": {JOB_ID: None}}})
        return False

    def test_24h_a_job_whose_pod_cannot_be_marked_is_the_only_one(self):
        self.pod("other", schedulerName="nobody")
        others = self.fill(*self.nodes)
        with self.nobody_may_mark():
            self.pod("p")
            self.wait(lambda: self.of("p"), "there is a job")
            self.stays(lambda: len(self.of("p")) == 1 and not self.job_id("p"), "one job", 6.0)
            (job,) = self.of("p")
        self.assertEqual(self.wait_job("p")["job_id"], job["job_id"])
        self.cancel(others)
        self.wait_bound("p")
        self.assertEqual(len(self.of("p")), 1)

    def test_25i_a_token_that_expires_costs_nothing(self):
        whole = self.token.read_text()
        self.addCleanup(self.token.write_text, whole)
        self.set_scene()
        self.token.write_text(short_lived(whole, self.slurm.key, 8.0))
        self.wait(lambda: self.proxy.tokens[-1] != whole, "the new token is used")
        time.sleep(10.0)
        self.endure(5.0)
        # What ends meanwhile is told to Slurm afterwards.
        self.finish("runs")
        number = self.numbers["runs"]
        self.stays(lambda: self.job(number)["job_state"] == ["RUNNING"], "nobody can say", 3.0)
        self.token.write_text(whole)
        self.wait_ended(number)
        self.wait_job("later")
        self.cancel(self.others)
        self.wait_bound("waits", "later")
        self.assertEqual(self.job_id("waits"), self.numbers["waits"])
        self.assertEqual(len(self.live_jobs()), 2, self.live_jobs())

    def asked(self) -> Counter:
        """About jobs, so far. How all of them are is asked at its own pace, whoever comes."""
        found = Counter(re.sub(r"/\d+", "", line) for line in self.proxy.asked)
        return Counter({k: n for k, n in found.items() if " job" in k and k != "GET jobs/state"})

    def is_quiet(self) -> bool:
        """It knows of all jobs, which takes it the longer the slower Slurm answers, and asks no more."""
        before = self.asked()
        time.sleep(2.5)
        there = len(self.slurm.call("jobs/state/")["jobs"])
        known = self.bridge.metric("slurm_cache_objects", "jobs")
        return known >= there and self.asked() == before

    def cost(self, name: str) -> Counter:
        """Of some pods that start at once, and of their ends."""
        self.wait(self.is_quiet, "the bridge knows of all jobs")
        self.wait_seen()
        before = self.asked()
        for number in range(4):
            self.pod(f"{name}-{number}")
        for number in range(4):
            self.wait_bound(f"{name}-{number}")
            self.api.delete("Pod", self.ns, f"{name}-{number}")
        for number in range(4):
            self.wait_gone(f"{name}-{number}")
        return self.asked() - before

    def queue(self, jobs: int):
        """Of somebody who has not said yet when they may start."""
        job = {"name": "queued", "partition": "slurm-bridge", "flags": ["EXTERNAL_JOB"]}
        job |= {"hold": True, "current_working_directory": "/tmp", "environment": ["A=b"]}
        self.addCleanup(
            self.slurm.instance.sandbox.output,
            ["scancel", "--ctld", "--state=PENDING", "--name=queued"],
        )
        with ThreadPoolExecutor(4) as hands:
            submit = lambda _: self.slurm.call("job/submit", "POST", {"job": job})  # noqa: E731
            self.assertTrue(all(made["job_id"] for made in hands.map(submit, range(jobs))))

    def test_26_a_pod_costs_the_same_whatever_else_is_in_the_queue(self):
        few = self.cost("few")
        self.queue(900)
        many = self.cost("many")
        self.assertEqual(many["POST job/allocate"], 4, many)
        self.assertLessEqual(set(many), set(few))
        self.assertNotIn("GET jobs", many)
        # Once more for each where it changed while it was looked at.
        self.assertLessEqual(many.total(), few.total() + 4, (few, many))


if __name__ == "__main__":
    unittest.main()
