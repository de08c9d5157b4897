"""Scenarios 1 to 9 and 12 of the operator: slurmctld, its configuration and its keys."""

import os
import re
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from operator_harness import (
    OperatorTest,
    config_map,
    controller,
    nodeset,
    secret,
)
from operator_kube import Refused
from operator_slurm import RestProxy, claims_of, is_signed_with

from msdev.console import Failure  # noqa: E402  (operator_harness knows the way)

ACTIVE = "controller.slinky.slurm.net/active"
HASH = "slinky.slurm.net/slurm-config-hash"
APPROVED = "mainspring.slurm.net/config-sync"


class OperatorControllerTest(OperatorTest):
    cluster = "test-op-control"
    slurm_lines = ("MaxNodeCount=4",)

    @classmethod
    def before_operator(cls):
        cls.proxy = RestProxy(cls.slurm.url)
        cls.addClassCleanup(cls.proxy.close)
        cls.rest_urls = {"s05": cls.proxy.url, "s12": cls.proxy.url}

    def owner_is(self, thing: dict, owner: dict):
        reference = thing["metadata"]["ownerReferences"]
        self.assertEqual(len(reference), 1, reference)
        self.assertEqual(reference[0]["uid"], owner["metadata"]["uid"])
        self.assertTrue(reference[0]["controller"])

    def pod_template(self, kind: str, name: str, test=lambda _: True) -> dict:
        return self.wait_for(kind, name, test)["spec"]["template"]

    def projected(self, template: dict, volume: str) -> list[dict]:
        volumes = {v["name"]: v for v in template["spec"]["volumes"]}
        return volumes[volume]["projected"]["sources"]

    def test_01_a_minimal_controller(self):
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "4Gi"}}}
        owner = self.controller(persistence={"enabled": True, **claim})
        labels = {
            "app.kubernetes.io/name": "slurmctld",
            "app.kubernetes.io/instance": "slurm",
            "app.kubernetes.io/component": "controller",
        }
        selector = {key: labels[key] for key in list(labels)[:2]}
        things = {
            name: self.wait_for(kind, name)
            for kind, name in (
                ("Service", "slurm-controller"),
                ("Service", "slurm-controller-internal"),
                ("ConfigMap", "slurm-config"),
                ("StatefulSet", "slurm-controller"),
            )
            if kind != "StatefulSet"
        }
        stateful = self.wait_for("StatefulSet", "slurm-controller")
        for thing in [*things.values(), stateful]:
            self.owner_is(thing, owner)
            self.assertLessEqual(labels.items(), thing["metadata"]["labels"].items())
        service, internal = things["slurm-controller"], things["slurm-controller-internal"]
        # One that is alone is found without a label that the operator would have to write.
        self.assertEqual(service["spec"]["selector"], selector)
        self.assertEqual(service["spec"]["ports"][0]["port"], 6817)
        self.assertEqual(internal["spec"]["selector"], selector)
        self.assertEqual(internal["spec"]["clusterIP"], "None")
        self.assertTrue(internal["spec"]["publishNotReadyAddresses"])
        self.assertEqual(internal["spec"]["ports"][0]["targetPort"], "slurmctld")
        conf = things["slurm-config"]["data"]["slurm.conf"]
        self.assertIn(f"ClusterName={self.ns}_slurm\n", conf)
        self.assertIn(
            f"SlurmctldHost=slurm-controller-0(slurm-controller-0.slurm-controller-internal.{self.ns})",
            conf,
        )
        self.assertIn("CgroupPlugin=", things["slurm-config"]["data"]["cgroup.conf"])

        spec = stateful["spec"]
        self.assertEqual(spec["replicas"], 1)
        self.assertEqual(spec["serviceName"], "slurm-controller-internal")
        self.assertEqual(spec["revisionHistoryLimit"], 0)
        made = spec["volumeClaimTemplates"][0]
        self.assertEqual(made["metadata"]["name"], "statesave")
        self.assertEqual(made["spec"]["resources"]["requests"]["storage"], "4Gi")
        pod = spec["template"]["spec"]
        self.assertFalse(pod["automountServiceAccountToken"])
        self.assertEqual(pod["securityContext"]["runAsUser"], 401)
        container = pod["containers"][0]
        self.assertEqual(container["name"], "slurmctld")
        self.assertEqual(container["ports"][0]["containerPort"], 6817)
        self.assertEqual(container["livenessProbe"]["httpGet"]["path"], "/livez")
        self.assertEqual(container["readinessProbe"]["httpGet"]["path"], "/readyz")
        self.assertEqual([c["name"] for c in pod["initContainers"]], ["logfile"])
        annotations = spec["template"]["metadata"]["annotations"]
        self.assertIn("slinky.slurm.net/slurm-key-hash", annotations)
        self.assertIn("slinky.slurm.net/jwt-key-hash", annotations)
        # The Service leads to the pod, whether or not the operator lives.
        self.wait(lambda: self.endpoints("slurm-controller"), "slurmctld's address in the Service")
        self.wait_for("Controller", "slurm", lambda c: self.condition(c, "Ready") == "True")

    def condition(self, thing: dict, kind: str) -> str:
        found = thing.get("status", {}).get("conditions", [])
        return next((c["status"] for c in found if c["type"] == kind), "")

    def endpoints(self, service: str) -> set[str]:
        which = f"kubernetes.io/service-name={service}"
        slices = self.api.all("EndpointSlice", self.ns, labelSelector=which)
        return {
            one["targetRef"]["name"]
            for piece in slices
            for one in piece.get("endpoints") or []
            if one["conditions"].get("ready")
        }

    def test_02_a_controller_needs_its_keys(self):
        for field in "slurmKeyRef", "jwtKeyRef":
            with self.assertRaises(Refused) as refused:
                self.api.create(controller(self.ns, **{field: None}))
            self.assertEqual(refused.exception.status, 422)
            self.assertIn(field, refused.exception.message)

    def test_03_an_external_controller_has_a_config_and_nothing_else(self):
        self.controller(external=True, externalConfig={"host": "ctld.example.com", "port": 7777})
        data = self.wait_for("ConfigMap", "slurm-config")["data"]
        conf = data["slurm.conf"]
        self.assertIn("SlurmctldHost=ctld.example.com\n", conf)
        self.assertIn("SlurmctldPort=7777\n", conf)
        self.assertNotIn("StateSaveLocation", conf)
        self.assertNotIn("PartitionName", conf)
        self.wait_for("Controller", "slurm", lambda c: c.get("status", {}).get("conditions"))
        for kind in "StatefulSet", "Service", "Deployment":
            self.assertEqual(self.api.all(kind, self.ns), [])

    def make_claim(self, name: str, mode: str):
        self.api.create(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "namespace": self.ns},
                "spec": {
                    "accessModes": [mode],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }
        )

    def test_04_several_slurmctld(self):
        self.make_claim("shared", "ReadWriteMany")
        self.controller(
            ha={"enabled": True, "backups": 2},
            persistence={"enabled": True, "existingClaim": "shared"},
        )
        stateful = self.wait_for("StatefulSet", "slurm-controller")
        self.assertEqual(stateful["spec"]["replicas"], 3)
        pod = stateful["spec"]["template"]["spec"]
        probe = pod["containers"][0]["readinessProbe"]
        self.assertEqual(probe["httpGet"]["path"], "/livez")
        volume = next(v for v in pod["volumes"] if v["name"] == "statesave")
        self.assertEqual(volume["persistentVolumeClaim"]["claimName"], "shared")
        hosts = [x for x in self.slurm_conf().splitlines() if x.startswith("SlurmctldHost=")]
        self.assertEqual(
            [h.split("=")[1].split("(")[0] for h in hosts],
            [f"slurm-controller-{n}" for n in range(3)],
        )
        with self.assertRaises(Refused) as refused:
            self.api.create(
                controller(self.ns, "other", ha={"enabled": True}, persistence={"enabled": True})
            )
        self.assertIn("ReadWriteMany", refused.exception.message)

    def test_05_the_service_follows_the_active_slurmctld(self):
        self.make_claim("shared", "ReadWriteMany")

        def pings(active: int) -> dict:
            def one(n: int) -> dict:
                state = {"pinged": "UP" if n == active else "DOWN", "responding": n == active}
                host = {"hostname": f"slurm-controller-{n}", "primary": n == 0}
                return {**host, **state, "latency": 100, "mode": "primary" if n == 0 else "backup1"}

            return {"pings": [one(0), one(1)], "errors": [], "warnings": []}

        self.proxy.answers["/ping"] = pings(1)
        self.addCleanup(self.proxy.answers.clear)
        self.controller(
            ha={"enabled": True}, persistence={"enabled": True, "existingClaim": "shared"}
        )
        label = lambda n: self.api.get("Pod", self.ns, f"slurm-controller-{n}")[
            "metadata"
        ][  # noqa: E731
            "labels"
        ].get(
            ACTIVE
        )
        self.wait(lambda: label(1) == "true" and label(0) is None, "pod 1 is the active one")
        only = lambda n: self.endpoints("slurm-controller") == {
            f"slurm-controller-{n}"
        }  # noqa: E731
        self.wait(lambda: only(1), lambda: f"{self.endpoints('slurm-controller')}")
        self.proxy.answers["/ping"] = pings(0)
        self.wait(lambda: label(0) == "true" and label(1) is None, "pod 0 is the active one")
        self.wait(lambda: only(0), lambda: f"{self.endpoints('slurm-controller')}")

        # The next pod of that name is found without an operator.
        self.operator.kill()
        old = self.api.get("Pod", self.ns, "slurm-controller-0")["metadata"]["uid"]
        self.api.delete("Pod", self.ns, "slurm-controller-0")
        self.wait_for("Pod", "slurm-controller-0", lambda pod: pod["metadata"]["uid"] != old)
        self.wait(lambda: only(0), lambda: f"{self.endpoints('slurm-controller')}")
        self.assertIsNone(label(0))
        type(self).operator = self.start_operator().wait_ready()
        self.wait(lambda: label(0) == "true", "the label is back")

    def config_hash(self, name: str = "slurm-controller") -> str:
        template = self.pod_template("StatefulSet", name)
        return template["metadata"].get("annotations", {}).get(HASH, "")

    def test_06_nodesets_are_in_the_configuration(self):
        self.controller()
        self.api.create(controller(self.ns, "inplace", inplaceReconfigure=True))
        self.wait_for("StatefulSet", "slurm-controller")
        before = self.config_hash()
        self.assertNotEqual(before, "")
        self.wait_for("StatefulSet", "inplace-controller")
        template = self.pod_template("StatefulSet", "inplace-controller")
        names = [c["name"] for c in template["spec"]["initContainers"]]
        self.assertIn("reconfigure", names)
        partition = {"enabled": True, "config": "State=UP MaxTime=60"}
        for ref in "slurm", "inplace":
            for name in f"{self.ns}zz", f"{self.ns}aa":
                part = partition if name.endswith("zz") else None
                one = nodeset(self.ns, f"{name}{ref[0]}", replicas=0, partition=part)
                one["spec"]["controllerRef"] = {"name": ref}
                self.api.create(one)
        wanted = [
            f"NodeSet={self.ns}aas Feature={self.ns}aas",
            f"NodeSet={self.ns}zzs Feature={self.ns}zzs",
            f"PartitionName={self.ns}zzs Nodes={self.ns}zzs State=UP MaxTime=60",
        ]

        def lines(config: str) -> list[str]:
            conf = self.api.get("ConfigMap", self.ns, config)["data"]["slurm.conf"]
            return [x for x in conf.splitlines() if x.startswith(("NodeSet=", "PartitionName="))]

        self.wait(lambda: lines("slurm-config") == wanted, lambda: lines("slurm-config"))
        self.wait(lambda: len(lines("inplace-config")) == 3, lambda: lines("inplace-config"))
        self.wait(lambda: self.config_hash() != before, "the config hash follows, for a rollout")
        self.assertEqual(self.config_hash("inplace-controller"), "")
        self.api.delete("NodeSet", self.ns, f"{self.ns}zzs")
        self.wait(lambda: lines("slurm-config") == wanted[:1], lambda: lines("slurm-config"))

    def test_07_options_of_the_user_are_merged(self):
        self.controller(extraConf="SlurmctldParameters=enable_stepmgr\nPrologFlags=Contain\n")
        merged = "SlurmctldParameters=enable_configless,enable_stepmgr,reconfig_on_restart"
        conf = self.slurm_conf()
        lines = [x for x in conf.splitlines() if x.startswith("SlurmctldParameters=")]
        self.assertEqual(lines[-1], merged, conf)
        self.assertIn("### MERGED CONFIG ###", conf)

    def test_08_prolog_and_epilog_scripts(self):
        refs = {
            "prologScriptRefs": {"b-prolog.sh": "pro-b", "a-prolog.sh": "pro-a"},
            "epilogScriptRefs": {"epilog.sh": "epi"},
            "prologSlurmctldScriptRefs": {"ctld-prolog.sh": "cpro"},
            "epilogSlurmctldScriptRefs": {"ctld-epilog.sh": "cepi"},
        }
        script = "#!/bin/sh\nexit 0\n"
        for files in refs.values():
            for file, name in files.items():
                self.api.create(config_map(self.ns, name, {file: script}))
        named = {field: [{"name": n} for n in files.values()] for field, files in refs.items()}
        self.controller(**named)
        conf = self.slurm_conf()
        kept = [x for x in conf.splitlines() if "rolog" in x or "pilog" in x]
        self.assertEqual(
            kept,
            [
                "PrologSlurmctld=/etc/slurm/ctld-prolog.sh",
                "EpilogSlurmctld=/etc/slurm/ctld-epilog.sh",
                "Prolog=a-prolog.sh",
                "Prolog=b-prolog.sh",
                "Epilog=epilog.sh",
            ],
        )
        template = self.pod_template("StatefulSet", "slurm-controller")
        sources = self.projected(template, "slurm-etc")
        maps = [s["configMap"]["name"] for s in sources if "configMap" in s]
        copies = [f"slurm-approved-{m}" for m in ("cepi", "cpro", "epi", "pro-a", "pro-b")]
        self.assertEqual(maps, ["slurm-config", *copies])

        before = self.api.get("ConfigMap", self.ns, "slurm-config")
        self.api.spec("Controller", self.ns, "slurm", prologScriptRefs=[{"name": "missing"}])
        told = lambda: [  # noqa: E731
            e for e in self.api.events(self.ns, "SyncFailed") if "missing" in e.get("note", "")
        ]
        self.wait(told, "an event SyncFailed that names the missing ConfigMap")
        after = self.api.get("ConfigMap", self.ns, "slurm-config")
        self.assertEqual(before["data"], after["data"])

    def test_09_configuration_files_of_the_user(self):
        self.api.create(config_map(self.ns, "mine", {"cgroup.conf": "ConstrainCores=yes\n"}))
        self.controller(configFileRefs=[{"name": "mine"}])
        data = self.wait_for("ConfigMap", "slurm-config")["data"]
        self.assertNotIn("cgroup.conf", data)
        template = self.pod_template("StatefulSet", "slurm-controller")
        maps = [
            s["configMap"]["name"]
            for s in self.projected(template, "slurm-etc")
            if "configMap" in s
        ]
        self.assertEqual(maps, ["slurm-config", "slurm-approved-mine"])
        # What slurmctld would stop at does not even lie in wait for its next start.
        self.api.patch("ConfigMap", self.ns, "mine", {"data": {"cgroup.conf": "Constrain=yes\n"}})
        state = lambda one: one.get("status", {}).get("config", {}).get("state")  # noqa: E731
        self.wait_for("Controller", "slurm", lambda one: state(one) == "Rejected")
        copy = self.api.get("ConfigMap", self.ns, "slurm-approved-mine")
        self.assertEqual(copy["data"], {"cgroup.conf": "ConstrainCores=yes\n"})

    def pod_for_sidecar(self, files: dict[str, str]) -> Path:
        """What the sidecar finds in its pod: files, volumes, and programs that note that they were
        called."""
        root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for folder in "etc/slurm", "run/approved", "run/taken-up", "bin":
            (root / folder).mkdir(parents=True)
        stubs = {"scontrol": "called", "sleep": "naps"}
        for program, note in stubs.items():
            (root / note).touch()
            stub = root / "bin" / program
            stub.write_text(f"#!/bin/sh\necho >>{root}/{note}\nexec /bin/sleep 0.05\n")
            stub.chmod(0o755)
        self.bring(root, files, "")
        return root

    def start_sidecar(self, script: str, root: Path) -> subprocess.Popen:
        """The script as it runs in the pod, with shorter naps."""
        mounts = f"mount --bind {root}/etc /etc && mount --bind {root}/run /run"
        process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", f'{mounts} && exec bash -c "$1"', "sh", script],
            env={"PATH": f"{root}/bin:/usr/bin:/bin"},
            start_new_session=True,
        )
        self.addCleanup(self.stop_sidecar, process)
        return process

    def stop_sidecar(self, process: subprocess.Popen) -> None:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def bring(self, root: Path, files: dict[str, str], approved: str) -> None:
        for name, text in files.items():
            (root / "etc/slurm" / name).write_text(text)
        (root / "run/approved/files").write_text(approved)

    def test_09b_the_sidecar_takes_up_good_files_only(self):
        extra = {".hidden": "a", "A.conf": "# no newline", "b-c.sh": "", "gres.conf": "\n"}
        self.api.create(config_map(self.ns, "mine", extra))
        self.controller(inplaceReconfigure=True, configFileRefs=[{"name": "mine"}])
        containers = self.pod_template("StatefulSet", "slurm-controller")["spec"]["initContainers"]
        script = next(c for c in containers if c["name"] == "reconfigure")["command"][-1]
        pod = "slurm-controller-0"
        self.wait_for("Pod", pod, lambda _: self.annotations(pod).get(APPROVED))
        files = {"slurm.key": "k", "jwt.key": "j", "..data": "the kubelet's"}

        def all_files() -> dict[str, str]:
            maps = [self.api.get("ConfigMap", self.ns, m)["data"] for m in ("slurm-config", "mine")]
            return files | maps[0] | maps[1]

        before = self.annotations(pod)[APPROVED]
        root = self.pod_for_sidecar(all_files())
        sidecar = self.start_sidecar(script, root)
        count = lambda note: (root / note).read_text().count("\n")  # noqa: E731
        self.wait(lambda: count("naps") > 2, "the sidecar looks")
        self.assertEqual(count("called"), 0)

        # A bad file is in the pod before anybody has looked at it.
        self.api.patch("ConfigMap", self.ns, "mine", {"data": {"gres.conf": "Nam=gpu\n"}})
        self.bring(root, all_files(), before)
        state = lambda one: one["status"]["config"]["state"]  # noqa: E731
        self.wait_for("Controller", "slurm", lambda one: state(one) == "Rejected")
        seen = count("naps")
        self.wait(lambda: count("naps") > seen + 4, "the sidecar looks again")
        self.assertEqual(self.annotations(pod)[APPROVED], before)
        self.assertEqual(count("called"), 0)

        self.api.patch("ConfigMap", self.ns, "mine", {"data": {"gres.conf": "# none\n"}})
        self.wait(lambda: self.annotations(pod)[APPROVED] != before, "another hash")
        self.bring(root, all_files(), self.annotations(pod)[APPROVED])
        self.wait(lambda: count("called") == 1, "slurmctld is told")
        seen = count("naps")
        self.wait(lambda: count("naps") > seen + 4, "the sidecar looks again")
        self.assertEqual(count("called"), 1)

        # Files that come while it restarts are new to slurmctld all the same.
        self.stop_sidecar(sidecar)
        before = self.annotations(pod)[APPROVED]
        self.api.patch("ConfigMap", self.ns, "mine", {"data": {"gres.conf": "# some\n"}})
        self.wait(lambda: self.annotations(pod)[APPROVED] != before, "another hash")
        self.bring(root, all_files(), self.annotations(pod)[APPROVED])
        self.start_sidecar(script, root)
        self.wait(lambda: count("called") == 2, "slurmctld is told of these, too")

    def test_room_for_nodes_grows_by_a_reconfigure(self):
        """What the operator relies on when it writes a larger MaxNodeCount: slurmctld takes it up
        without a restart of its pod, and the jobs go on."""
        self.slurm.start_worker("grow-0", "grow")
        self.addCleanup(self.slurm.stop_worker, "grow-0")
        self.wait(lambda: "IDLE" in self.slurm.state("grow-0"), "a worker")
        job = self.slurm.run_job("grow-0")
        self.addCleanup(self.slurm.cancel_all)
        self.slurm.create_nodes("grow-[1-3]")
        with self.assertRaises(Failure):
            self.slurm.create_nodes("grow-4")
        conf = self.slurm.instance.folder / "files" / "etc" / "slurm.conf"
        text = conf.read_text()
        self.assertIn("MaxNodeCount=4\n", text)
        conf.write_text(text.replace("MaxNodeCount=4\n", "MaxNodeCount=8\n"))
        self.slurm.call("reconfigure/")
        most = lambda: re.search(  # noqa: E731
            r"^MaxNodeCount\s*=\s*(\d+)", self.slurm.scontrol("show", "config"), re.M
        )[1]
        self.wait(lambda: most() == "8", lambda: f"MaxNodeCount is {most()}")
        self.slurm.create_nodes("grow-[4-7]")
        self.assertEqual(len(self.slurm.nodes()), 8)
        self.assertIn("RUNNING", self.slurm.job(job)["job_state"])

    def test_12_a_new_jwt_key_reaches_everybody(self):
        self.controller()
        name = "slinky.slurm.net/jwt-key-hash"
        key_hash = lambda: self.pod_template("StatefulSet", "slurm-controller")[
            "metadata"
        ][  # noqa: E731
            "annotations"
        ][
            name
        ]
        before = self.wait(key_hash, "the hash of the key")
        signed = lambda key: self.proxy.tokens and is_signed_with(
            self.proxy.tokens[-1], key
        )  # noqa: E731
        self.wait(lambda: signed(self.slurm.key), "the operator speaks to slurmrestd")
        key = b"another key, of thirty-two bytes"
        self.api.apply(secret(self.ns, "jwt-key", {"jwt.key": key}))
        self.wait(lambda: key_hash() != before, "the key's hash in slurmctld's template")
        self.wait(lambda: signed(key), "a token of the new key")
        self.assertEqual(claims_of(self.proxy.tokens[-1])["sun"], "slurm")


if __name__ == "__main__":
    unittest.main()
