#!/usr/bin/python3
"""dev/cluster without nodes: quick, side by side, and safe to interrupt anywhere. Runs beside other
tests; machine_test.py looks everywhere for what stays.

A control plane takes many seconds of processor time to start, so most of it is one story of two."""

import json
import os
import subprocess
import threading
import unittest
from pathlib import Path

import clusters
from clusters import ClusterTest, Footprint, killed_down, killed_up, kubectl, run
from msdev.cluster import registry
from msdev.cluster.layout import CLUSTERS
from msdev.cluster.leftovers import processes_of
from msdev.process import start_time

ONE, TWO = "test-cp-1", "test-cp-2"
UP = ("up", "--control-plane-only")
# kill -9 of `up`, at the announcement of a step and somewhere within it.
MOMENTS = (
    ("network", 0.05),
    ("certificates", 0.1),
    ("control plane", 0.0),
    ("control plane", 0.01),
    ("control plane", 1.5),
)


def namespaces(name: str) -> list[str]:
    return kubectl(name, "get", "namespaces", "-o", "jsonpath={.items[*].metadata.name}").split()


class ControlPlaneOnly(ClusterTest):
    names = (ONE, TWO)

    def test_the_life_of_two_clusters(self):
        """Each part finds what the one before it left."""
        self.of_one = Footprint(ONE)
        self.up_repairs_what_a_killed_up_left()
        self.it_serves_the_api_versions_that_the_bridge_needs()
        self.second_up_finds_it_running()
        self.a_dead_component_is_started_again_and_the_data_is_kept()
        self.a_process_that_no_record_knows_is_replaced()
        self.two_clusters_live_side_by_side()
        self.down_completes_what_a_killed_down_began()
        self.the_other_one_lives_on()
        self.two_ups_at_the_same_time_make_one_cluster_without_what_was_in_the_last()
        self.after_a_restart_of_the_machine_it_is_made_anew()
        self.down_ends_also_a_process_that_no_record_knows()

    def up_repairs_what_a_killed_up_left(self):
        """Each finds what the one before it left, and comes further."""
        for step, then in MOMENTS:
            killed_up(ONE, *UP, step=step, then=then)
        run(ONE, *UP)
        self.assert_works(ONE)

    def it_serves_the_api_versions_that_the_bridge_needs(self):
        versions = kubectl(ONE, "api-versions").split()
        self.assertIn("scheduling.k8s.io/v1alpha2", versions)
        self.assertIn("resource.k8s.io/v1", versions)
        kinds = kubectl(ONE, "api-resources", "--api-group=scheduling.k8s.io", "-o", "name")
        self.assertIn("workloads.scheduling.k8s.io", kinds)
        self.assertIn("podgroups.scheduling.k8s.io", kinds)

    def second_up_finds_it_running(self):
        self.assertIn("already running", run(ONE, *UP, timeout=30).stdout)

    def a_dead_component_is_started_again_and_the_data_is_kept(self):
        kubectl(ONE, "create", "namespace", "only-in-one")
        for component in ("etcd", "kube-apiserver"):
            record = json.loads(self.record_of(component).read_text())
            subprocess.run(["kill", "-KILL", str(record["pid"])], check=True)
        self.assertEqual(run(ONE, "status", check=False).returncode, 1)
        run(ONE, *UP)
        self.assertIn("only-in-one", namespaces(ONE))

    def a_process_that_no_record_knows_is_replaced(self):
        """As when `up` is killed between starting a daemon and writing down its pid."""
        for component in ("etcd", "kube-controller-manager"):
            self.record_of(component).unlink()
        run(ONE, *UP)
        self.assert_works(ONE)
        records = (CLUSTERS / ONE / "run").glob("*.json")
        known = {json.loads(record.read_text())["pid"] for record in records}
        self.assertEqual(known, processes_of(ONE))

    def two_clusters_live_side_by_side(self):
        run(TWO, *UP)
        self.assertNotEqual(clusters.index_of(ONE), clusters.index_of(TWO))
        self.assertIn("only-in-one", namespaces(ONE))
        self.assertNotIn("only-in-one", namespaces(TWO))

    def down_completes_what_a_killed_down_began(self):
        """Killed when some processes are gone, then when the bridge is, then when files are."""
        bridge = Path("/sys/class/net", registry.existing(ONE).bridge)
        pids = processes_of(ONE)
        first = self.make_many_files(CLUSTERS / ONE / "many")
        ended = lambda: any(start_time(pid) is None for pid in pids)  # noqa: E731
        killed_down(ONE, ended, "a process ended")
        killed_down(ONE, lambda: not bridge.exists(), "the bridge is gone")
        killed_down(ONE, lambda: not first.exists(), "a file is gone")
        self.of_one.note()
        self.down(ONE)
        self.assertEqual(self.of_one.left(), set(), "left behind after 'down'")

    def make_many_files(self, folder: Path) -> Path:
        """So that `down` takes a while to remove them. The one that will be the first."""
        folder.mkdir()
        for number in range(5000):
            (folder / str(number)).touch()
        with os.scandir(folder) as entries:
            return Path(next(entries).path)

    def the_other_one_lives_on(self):
        self.assert_works(TWO)

    def two_ups_at_the_same_time_make_one_cluster_without_what_was_in_the_last(self):
        results = []
        both = [threading.Thread(target=lambda: results.append(run(ONE, *UP))) for _ in range(2)]
        for one in both:
            one.start()
        for one in both:
            one.join()
        self.assertEqual(len(results), 2)
        self.assertEqual(sum("already running" in r.stdout for r in results), 1)
        self.assert_works(ONE)
        self.assertNotIn("only-in-one", namespaces(ONE))

    def after_a_restart_of_the_machine_it_is_made_anew(self):
        kubectl(ONE, "create", "namespace", "before")
        self.footprint.note()
        record = CLUSTERS / ONE / "cluster.json"
        record.write_text(json.dumps({**json.loads(record.read_text()), "boot_id": "earlier"}))
        self.assertIn("was restarted", run(ONE, *UP).stdout)
        self.assert_works(ONE)
        self.assertNotIn("before", namespaces(ONE))

    def down_ends_also_a_process_that_no_record_knows(self):
        """tearDown looks for what is left."""
        self.record_of("kube-apiserver").unlink()

    def record_of(self, component: str) -> Path:
        return CLUSTERS / ONE / "run" / f"{component}.json"

    def test_an_impossible_name_is_refused(self):
        done = run("Not/a-name", *UP, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot be a cluster's name", done.stderr)


class Interrupted(ClusterTest):
    names = (ONE,)

    def test_down_cleans_what_a_killed_up_left(self):
        for step, then in MOMENTS:
            with self.subTest(step=step, then=then):
                killed_up(ONE, *UP, step=step, then=then)
                self.down(ONE)
                self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
