#!/usr/bin/python3
"""dev/cluster without nodes: quick, side by side, and safe to interrupt anywhere. Runs beside other
tests; machine_test.py looks everywhere for what stays."""

import json
import subprocess
import threading
import time
import unittest

import clusters
from clusters import CLUSTER, ClusterTest, killed_up, kubectl, run
from msdev.cluster.layout import CLUSTERS
from msdev.cluster.leftovers import processes_of

ONE, TWO = "test-cp-1", "test-cp-2"
UP = ("up", "--control-plane-only")


class ControlPlaneOnly(ClusterTest):
    names = (ONE, TWO)

    def test_serves_the_api_versions_that_the_bridge_needs(self):
        run(ONE, *UP)
        versions = kubectl(ONE, "api-versions").split()
        self.assertIn("scheduling.k8s.io/v1alpha2", versions)
        self.assertIn("resource.k8s.io/v1", versions)
        kinds = kubectl(ONE, "api-resources", "--api-group=scheduling.k8s.io", "-o", "name")
        self.assertIn("workloads.scheduling.k8s.io", kinds)
        self.assertIn("podgroups.scheduling.k8s.io", kinds)

    def test_second_up_finds_it_running(self):
        run(ONE, *UP)
        self.assertIn("already running", run(ONE, *UP, timeout=30).stdout)

    def test_two_clusters_live_side_by_side_and_end_separately(self):
        run(ONE, *UP)
        run(TWO, *UP)
        self.assertNotEqual(clusters.index_of(ONE), clusters.index_of(TWO))
        kubectl(ONE, "create", "namespace", "only-in-one")
        self.assertNotIn("only-in-one", kubectl(TWO, "get", "namespaces"))
        self.down(ONE)
        self.assert_works(TWO)

    def test_down_then_up_keeps_nothing(self):
        run(ONE, *UP)
        kubectl(ONE, "create", "namespace", "forgotten")
        self.down(ONE)
        run(ONE, *UP)
        self.assertNotIn("forgotten", kubectl(ONE, "get", "namespaces"))

    def test_two_ups_at_the_same_time_make_one_cluster(self):
        results = []
        both = [threading.Thread(target=lambda: results.append(run(ONE, *UP))) for _ in range(2)]
        for one in both:
            one.start()
        for one in both:
            one.join()
        self.assertEqual(len(results), 2)
        self.assertEqual(sum("already running" in r.stdout for r in results), 1)
        self.assert_works(ONE)

    def test_a_dead_component_is_started_again_and_the_data_is_kept(self):
        run(ONE, *UP)
        kubectl(ONE, "create", "namespace", "kept")
        for component in ("etcd", "kube-apiserver"):
            record = json.loads((CLUSTERS / ONE / "run" / f"{component}.json").read_text())
            subprocess.run(["kill", "-KILL", str(record["pid"])], check=True)
        self.assertEqual(run(ONE, "status", check=False).returncode, 1)
        run(ONE, *UP)
        self.assertIn("kept", kubectl(ONE, "get", "namespaces"))

    def test_a_process_that_no_record_knows_is_replaced_or_ended(self):
        """As when `up` is killed between starting a daemon and writing down its pid."""
        run(ONE, *UP)
        for component in ("etcd", "kube-controller-manager"):
            (CLUSTERS / ONE / "run" / f"{component}.json").unlink()
        run(ONE, *UP)
        self.assert_works(ONE)
        records = (CLUSTERS / ONE / "run").glob("*.json")
        known = {json.loads(record.read_text())["pid"] for record in records}
        self.assertEqual(known, processes_of(ONE))
        (CLUSTERS / ONE / "run" / "kube-apiserver.json").unlink()

    def test_after_a_restart_of_the_machine_it_is_made_anew(self):
        run(ONE, *UP)
        record = CLUSTERS / ONE / "cluster.json"
        record.write_text(json.dumps({**json.loads(record.read_text()), "boot_id": "earlier"}))
        self.assertIn("was restarted", run(ONE, *UP).stdout)
        self.assert_works(ONE)

    def test_an_impossible_name_is_refused(self):
        done = run("Not/a-name", *UP, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot be a cluster's name", done.stderr)


class Interrupted(ClusterTest):
    """kill -9 of `up`, at the announcement of a step and somewhere within it."""

    names = (ONE,)
    MOMENTS = (
        ("network", 0.05),
        ("certificates", 0.1),
        ("control plane", 0.0),
        ("control plane", 0.01),
        ("control plane", 1.5),
    )

    def test_up_repairs_what_a_killed_up_left(self):
        for step, delay in self.MOMENTS:
            with self.subTest(step=step, delay=delay):
                killed_up(ONE, *UP, step=step, delay=delay)
                run(ONE, *UP)
                self.assert_works(ONE)
                self.down(ONE)
                self.assert_nothing_left()

    def test_down_cleans_what_a_killed_up_left(self):
        for step, delay in self.MOMENTS:
            with self.subTest(step=step, delay=delay):
                killed_up(ONE, *UP, step=step, delay=delay)
                self.down(ONE)
                self.assert_nothing_left()

    def test_down_completes_what_a_killed_down_began(self):
        for delay in (0.1, 0.2, 0.3):
            with self.subTest(delay=delay):
                run(ONE, *UP)
                self.footprint.note()
                child = subprocess.Popen([CLUSTER, "--name", ONE, "down"])
                time.sleep(delay)
                child.kill()
                child.wait()
                self.down(ONE)
                self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
