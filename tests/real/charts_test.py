#!/usr/bin/python3
"""The charts, rendered by the real helm: the rules by which values become objects."""

import unittest

import yaml

from charts import REPO, helm, one, render

EXAMPLE = REPO / "examples" / "slurm" / "values.yaml"
PUSH_EXAMPLE = REPO / "examples" / "slurm-push.yaml"
NAMESPACE = "kubernetes.io/metadata.name"
CLUSTERS_OWN = ["kube-system", "kube-public", "kube-node-lease"]


class ChartsTest(unittest.TestCase):
    def refused(self, chart: str, values: dict) -> str:
        answer = helm("template", "x", str(REPO / "charts" / chart), values=values)
        self.assertNotEqual(answer.returncode, 0, answer.stdout)
        return answer.stderr


class AllChartsTest(ChartsTest):
    def test_all_charts_are_clean(self):
        for chart in ("mainspring-crds", "mainspring", "mainspring-bridge", "slurm"):
            answer = helm("lint", "--strict", str(REPO / "charts" / chart))
            self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)


class OwnObjectsTest(ChartsTest):
    """What a process fills by itself goes with its release, and is empty for an upgrade."""

    NONE = {
        "mainspring": {"webhook": {"enabled": False}, "operator": {"leaderElection": False}},
        "mainspring-bridge": {
            "admission": {"enabled": False},
            "scheduler": {"leaderElect": False},
        },
    }
    LEASES = {"mainspring": "mainspring-operator", "mainspring-bridge": "mainspring-bridge"}

    def own(self, chart: str, values: dict) -> list[dict]:
        return [one for one in render(chart, values) if one["kind"] in ("Secret", "Lease")]

    def test_the_chart_makes_them_empty(self):
        for chart, lease_name in self.LEASES.items():
            secret, lease = self.own(chart, {})
            self.assertEqual(lease["metadata"]["name"], lease_name)
            pod = one(render(chart, {}), "Deployment")["spec"]["template"]["spec"]
            flag = f"--webhook-secret={secret['metadata']['name']}"
            self.assertIn(flag, pod["containers"][0]["args"])
            for each in (lease, secret):
                self.assertEqual(set(each), {"apiVersion", "kind", "metadata"})
                self.assertEqual(each["metadata"]["namespace"], "ns")

    def test_there_are_none_where_nothing_needs_them(self):
        for chart, values in self.NONE.items():
            self.assertEqual(self.own(chart, values), [])


class OperatorChartTest(ChartsTest):
    def test_its_pod_is_restricted(self):
        pod = one(render("mainspring", {}), "Deployment")["spec"]["template"]["spec"]
        self.assertTrue(pod["securityContext"]["runAsNonRoot"])
        self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
        container = pod["containers"][0]["securityContext"]
        self.assertEqual(container["capabilities"], {"drop": ["ALL"]})
        self.assertFalse(container["allowPrivilegeEscalation"])
        self.assertTrue(container["readOnlyRootFilesystem"])

    def test_watching_some_namespaces_gives_rights_in_these_only(self):
        objects = render("mainspring", {"operator": {"namespaces": "a, b"}})
        roles = [o["metadata"]["namespace"] for o in objects if o["kind"] == "Role"]
        self.assertEqual(sorted(roles), ["a", "b", "ns"])
        resources = {r for rule in one(objects, "ClusterRole")["rules"] for r in rule["resources"]}
        self.assertNotIn("secrets", resources)
        self.assertNotIn("pods", resources)
        hooks = one(objects, "ValidatingWebhookConfiguration")["webhooks"]
        for hook in hooks:
            wanted = {
                "key": NAMESPACE,
                "operator": "In",
                "values": ["a", "b"],
            }
            self.assertIn(wanted, hook["namespaceSelector"]["matchExpressions"])

    def test_our_kinds_wait_for_the_operator_and_nothing_else_does(self):
        objects = render("mainspring", {"crds": {"enabled": True}})
        kinds = {
            definition["spec"]["names"]["plural"]
            for definition in objects
            if definition["kind"] == "CustomResourceDefinition"
            and definition["spec"]["versions"][0]["name"] == "v1beta1"
        }
        hooks = one(objects, "ValidatingWebhookConfiguration")["webhooks"]
        ours = {
            hook["rules"][0]["resources"][0]: hook for hook in hooks if "objectSelector" not in hook
        }
        self.assertEqual(set(ours), kinds)
        hidden = {"key": NAMESPACE, "operator": "NotIn", "values": CLUSTERS_OWN}
        for hook in hooks:
            self.assertEqual(hook["namespaceSelector"], {"matchExpressions": [hidden]})
            self.assertEqual(hook["sideEffects"], "None")
            self.assertEqual(len(hook["rules"]), 1)
        for plural, hook in ours.items():
            rule = {"apiGroups": ["slinky.slurm.net"], "apiVersions": ["v1beta1"]}
            rule |= {"resources": [plural], "operations": ["CREATE", "UPDATE"]}
            self.assertEqual(hook["rules"][0], {**rule, "scope": "Namespaced"})
            self.assertEqual(hook["failurePolicy"], "Fail")
        (labelled,) = (hook for hook in hooks if "objectSelector" in hook)
        self.assertEqual(labelled["failurePolicy"], "Ignore")
        self.assertEqual(labelled["rules"][0]["resources"], ["configmaps"])
        self.assertEqual(labelled["rules"][0]["operations"], ["CREATE", "UPDATE", "DELETE"])
        self.assertEqual(
            labelled["objectSelector"]["matchExpressions"],
            [{"key": "mainspring.slurm.net/config-of", "operator": "Exists"}],
        )

    def test_bindings_are_asked_about_only_where_wanted_and_never_for_the_operator_itself(self):
        kind = "MutatingWebhookConfiguration"
        self.assertNotIn(kind, [o["kind"] for o in render("mainspring", {})])
        (hook,) = one(render("mainspring", {"webhook": {"podsBinding": True}}), kind)["webhooks"]
        self.assertEqual(hook["failurePolicy"], "Ignore")
        self.assertEqual(hook["sideEffects"], "NoneOnDryRun")
        self.assertEqual(hook["rules"][0]["resources"], ["pods/binding"])
        self.assertEqual(hook["rules"][0]["operations"], ["CREATE"])
        hidden = {"key": NAMESPACE, "operator": "NotIn", "values": [*CLUSTERS_OWN, "ns"]}
        self.assertEqual(hook["namespaceSelector"], {"matchExpressions": [hidden]})

    def test_deletion_in_the_foreground_is_refused_where_the_api_server_can_and_the_site_wants(
        self,
    ):
        kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")

        def made(values: dict, *options: str) -> list[dict]:
            return [o for o in render("mainspring", values, *options) if o["kind"] in kinds]

        policy, binding = made({}, "--kube-version", "1.30.0")
        self.assertEqual(binding["spec"]["policyName"], policy["metadata"]["name"])
        self.assertEqual(binding["spec"]["validationActions"], ["Deny"])
        rule = {"apiGroups": ["slinky.slurm.net"], "apiVersions": ["v1beta1"]}
        rule |= {"resources": ["nodesets"], "operations": ["DELETE"], "scope": "Namespaced"}
        self.assertEqual(policy["spec"]["matchConstraints"]["resourceRules"], [rule])
        self.assertEqual(made({}, "--kube-version", "1.29.9"), [])
        able = "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"
        self.assertEqual(len(made({}, "--kube-version", "1.29.9", "--api-versions", able)), 2)
        self.assertEqual(made({"nodesets": {"refuseForegroundDeletion": False}}), [])
        # It asks no webhook, and is scoped as they are.
        self.assertEqual(len(made({"webhook": {"enabled": False}})), 2)
        selector = {"matchLabels": {"slurm": "yes"}}
        values = {"webhook": {"validating": {"namespaceSelector": selector}}}
        values["operator"] = {"namespaces": "a,b"}
        hooks = one(render("mainspring", values), "ValidatingWebhookConfiguration")["webhooks"]
        constraints = made(values)[0]["spec"]["matchConstraints"]
        self.assertEqual(constraints["namespaceSelector"], hooks[0]["namespaceSelector"])

    def test_definitions_come_along_when_asked_for(self):
        kinds = [o["kind"] for o in render("mainspring", {"crds": {"enabled": True}})]
        self.assertEqual(kinds.count("CustomResourceDefinition"), 7)
        self.assertNotIn("CustomResourceDefinition", [o["kind"] for o in render("mainspring", {})])

    def test_a_misspelt_value_is_refused(self):
        self.assertIn("replcas", self.refused("mainspring", {"operator": {"replcas": 2}}))

    def test_secure_metrics_need_a_port(self):
        wrong = {"operator": {"metricsSecure": True, "metricsPort": 0}}
        self.assertIn("metricsPort", self.refused("mainspring", wrong))


class SlurmServerTest(ChartsTest):
    """How slurmrestd is reached, in both charts that ask it."""

    def container(self, chart: str, server: dict) -> tuple[dict, dict]:
        pod = one(render(chart, {"slurmServer": server}), "Deployment")["spec"]["template"]["spec"]
        return pod, pod["containers"][0]

    def test_whom_the_image_trusts_unless_a_config_map_says_otherwise(self):
        for chart in ("mainspring", "mainspring-bridge"):
            self.assertNotIn("slurm-ca", yaml.safe_dump_all(render(chart, {})))
            pod, container = self.container(chart, {"caConfigMap": {"name": "site", "key": "k"}})
            (flag,) = (a for a in container["args"] if a.startswith("--slurm-ca-file="))
            (mount,) = (m for m in container["volumeMounts"] if m["name"] == "slurm-ca")
            self.assertEqual(flag.partition("=")[2], f"{mount['mountPath']}/ca.crt")
            (volume,) = (v["configMap"] for v in pod["volumes"] if v["name"] == "slurm-ca")
            self.assertEqual(volume, {"name": "site", "items": [{"key": "k", "path": "ca.crt"}]})

    def test_proxies_are_variables_of_the_process(self):
        env = [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}]
        for chart in ("mainspring", "mainspring-bridge"):
            self.assertEqual(self.container(chart, {"env": env})[1]["env"], env)
            self.assertNotIn("env", self.container(chart, {})[1])


class PushDoorTest(ChartsTest):
    """Where slurmctld may push, in both charts that can open it."""

    def test_there_is_none_unless_asked_for(self):
        for chart in ("mainspring", "mainspring-bridge"):
            self.assertNotIn("slurm-push", yaml.safe_dump_all(render(chart, {})))

    def test_the_port_the_key_and_the_service_belong_together(self):
        push = {"enabled": True, "port": 9000, "keySecret": {"name": "mine", "key": "k"}}
        names = {"mainspring": "mainspring", "mainspring-bridge": "mainspring-bridge-slurm-bridge"}
        for chart, name in names.items():
            objects = render(chart, {"slurmPush": push})
            pod = one(objects, "Deployment")["spec"]["template"]["spec"]
            container = pod["containers"][0]
            self.assertIn("--slurm-push-addr=:9000", container["args"])
            (flag,) = (a for a in container["args"] if a.startswith("--slurm-push-key-file="))
            (mount,) = (m for m in container["volumeMounts"] if m["name"] == "slurm-push")
            self.assertEqual(flag.partition("=")[2], f"{mount['mountPath']}/key")
            (volume,) = (v["secret"] for v in pod["volumes"] if v["name"] == "slurm-push")
            self.assertEqual(volume["secretName"], "mine")
            self.assertEqual(volume["items"], [{"key": "k", "path": "key"}])
            ports = one(objects, "Service", name)["spec"]["ports"]
            door = {"name": "slurm-push", "port": 9000, "targetPort": "slurm-push"}
            self.assertIn(door, ports)
            self.assertIn({"name": "slurm-push", "containerPort": 9000}, container["ports"])


class BridgeChartTest(ChartsTest):
    def hooks(self, values: dict, kind: str = "MutatingWebhookConfiguration") -> list[dict]:
        return one(render("mainspring-bridge", values), kind)["webhooks"]

    def test_its_pod_is_restricted_and_does_not_wait_for_itself(self):
        pod = one(render("mainspring-bridge", {}), "Deployment")["spec"]["template"]["spec"]
        self.assertEqual(pod["schedulerName"], "default-scheduler")
        self.assertTrue(pod["securityContext"]["runAsNonRoot"])
        self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
        container = pod["containers"][0]["securityContext"]
        self.assertEqual(container["capabilities"], {"drop": ["ALL"]})
        self.assertFalse(container["allowPrivilegeEscalation"])
        self.assertTrue(container["readOnlyRootFilesystem"])

    def test_values_become_the_configuration_file(self):
        values = {
            "schedulerConfig": {
                "schedulerName": "mine",
                "mcsLabel": "",
                "partition": "gpu",
                "identities": {"physics": {"user": 1000}, "*": {"account": "others"}},
                "priorityClasses": {"urgent": {"priority": 9000}},
            },
            "admission": {"managedNamespaces": ["a", "b"]},
            "sharedConfig": {"slurmRestApi": "http://rest:1"},
        }
        config = one(render("mainspring-bridge", values), "ConfigMap", "slurm-bridge-config")
        wanted = {
            "schedulerName": "mine",
            "slurmRestApi": "http://rest:1",
            "managedNamespaces": ["a", "b"],
            "mcsLabel": "",
            "partition": "gpu",
            "exclusiveByDefault": True,
            "taintNodes": True,
            "cordonNodes": False,
            "identities": {"physics": {"user": 1000}, "*": {"account": "others"}},
            "priorityClasses": {"urgent": {"priority": 9000}},
        }
        self.assertEqual(yaml.safe_load(config["data"]["config.yaml"]), wanted)

    def test_a_changed_configuration_restarts_it(self):
        def checksum(partition: str) -> str:
            objects = render("mainspring-bridge", {"schedulerConfig": {"partition": partition}})
            template = one(objects, "Deployment")["spec"]["template"]
            return template["metadata"]["annotations"]["checksum/config"]

        self.assertNotEqual(checksum("a"), checksum("b"))
        self.assertEqual(checksum("a"), checksum("a"))

    def test_only_pods_that_are_slurms_are_asked_about(self):
        named, managed = self.hooks({"admission": {"managedNamespaces": ["a"]}})
        ours = 'has(object.spec.schedulerName) && object.spec.schedulerName == "{}"'
        scheduler = ours.format("slurm-bridge-scheduler")
        self.assertEqual(named["matchConditions"][0]["expression"], scheduler)
        self.assertNotIn("namespaceSelector", named)
        wanted = {"key": NAMESPACE, "operator": "In", "values": ["a"]}
        self.assertEqual(managed["namespaceSelector"], {"matchExpressions": [wanted]})
        self.assertIn("default-scheduler", managed["matchConditions"][0]["expression"])
        (validating,) = self.hooks({}, "ValidatingWebhookConfiguration")
        conditions = [each["expression"] for each in validating["matchConditions"]]
        self.assertEqual(conditions[0], scheduler)
        user = "system:serviceaccount:ns:mainspring-bridge-slurm-bridge"
        self.assertEqual(conditions[1], f'request.userInfo.username != "{user}"')
        args = one(render("mainspring-bridge", {}), "Deployment")
        args = args["spec"]["template"]["spec"]["containers"][0]["args"]
        self.assertIn(f"--user={user}", args)

    def test_selected_namespaces_are_never_the_clusters_own_nor_the_bridges(self):
        selector = {"matchLabels": {"slurm": "yes"}, "matchExpressions": [{"key": "x"}]}
        values = {"admission": {"managedNamespaceSelector": selector}}
        managed = self.hooks(values)[1]["namespaceSelector"]
        hidden = {"key": NAMESPACE, "operator": "NotIn", "values": [*CLUSTERS_OWN, "ns"]}
        self.assertEqual(managed["matchLabels"], {"slurm": "yes"})
        self.assertEqual(managed["matchExpressions"], [hidden, {"key": "x"}])
        config = one(render("mainspring-bridge", values), "ConfigMap")["data"]["config.yaml"]
        self.assertNotIn("managedNamespaces", yaml.safe_load(config))
        for name in ("ns", "kube-system"):
            wrong = {"admission": {"managedNamespaces": [name]}}
            answer = helm(
                *("template", "x", str(REPO / "charts" / "mainspring-bridge")),
                *("--namespace", "ns"),
                values=wrong,
            )
            self.assertIn(f"{name} cannot be managed", answer.stderr)

    def test_namespaces_are_readable_only_where_they_are_selected(self):
        def may_read(values: dict) -> bool:
            rules = one(render("mainspring-bridge", values), "ClusterRole")["rules"]
            rules = [rule for rule in rules if "namespaces" in rule["resources"]]
            return any("resourceNames" not in rule for rule in rules)

        selector = {"matchLabels": {"slurm": "yes"}}
        self.assertTrue(may_read({"admission": {"managedNamespaceSelector": selector}}))
        self.assertFalse(may_read({}))

    def test_it_reads_no_secret_but_its_own(self):
        objects = render("mainspring-bridge", {})
        for rule in one(objects, "ClusterRole")["rules"]:
            self.assertNotIn("secrets", rule["resources"])
            self.assertNotIn("*", rule["resources"] + rule["verbs"] + rule["apiGroups"])
        rules = one(objects, "Role")["rules"]
        reads = [rule for rule in rules if "secrets" in rule["resources"]]
        for rule in reads:
            self.assertTrue("resourceNames" in rule or rule["verbs"] == ["create"])

    def test_several_replicas_elect_a_leader_whatever_is_said(self):
        values = {"scheduler": {"replicaCount": 2, "leaderElect": False, "pdb": {"enabled": True}}}
        objects = render("mainspring-bridge", values)
        args = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
        self.assertIn("--leader-elect", args)
        self.assertEqual(one(objects, "PodDisruptionBudget")["spec"]["minAvailable"], 1)

    def test_a_key_for_tokens_takes_the_place_of_a_token(self):
        def secret(values: dict) -> tuple[str, str]:
            pod = one(render("mainspring-bridge", values), "Deployment")["spec"]["template"]["spec"]
            (flag,) = (arg for arg in pod["containers"][0]["args"] if "--slurm-jwt" in arg)
            (volume,) = (each["secret"] for each in pod["volumes"] if each["name"] == "slurm")
            return volume["secretName"], flag

        self.assertEqual(
            secret({}),
            ("slurm-bridge-token", "--slurm-jwt-file=/var/run/secrets/slurm/auth-token"),
        )
        self.assertEqual(
            secret({"sharedConfig": {"slurmJwtKeySecret": {"name": "slurm-auth-jwt"}}}),
            ("slurm-auth-jwt", "--slurm-jwt-key-file=/var/run/secrets/slurm/jwt.key"),
        )

    CLUSTER = {"name": "campus", "namespace": "slurm", "secretName": "campus-token"}

    def test_a_cluster_takes_the_place_of_an_address_and_a_token(self):
        objects = render("mainspring-bridge", {"sharedConfig": {"slurmCluster": self.CLUSTER}})
        config = yaml.safe_load(one(objects, "ConfigMap")["data"]["config.yaml"])
        self.assertEqual(config["slurmCluster"], {"namespace": "slurm", "name": "campus"})
        self.assertNotIn("slurmRestApi", config)
        pod = one(objects, "Deployment")["spec"]["template"]["spec"]
        container = pod["containers"][0]
        self.assertFalse([arg for arg in container["args"] if "jwt" in arg])
        self.assertNotIn("slurm", [each["name"] for each in pod["volumes"]])
        self.assertNotIn("slurm", [each["name"] for each in container["volumeMounts"]])
        here = {"sharedConfig": {"slurmCluster": {**self.CLUSTER, "namespace": ""}}}
        config = one(render("mainspring-bridge", here), "ConfigMap")["data"]["config.yaml"]
        self.assertEqual(yaml.safe_load(config)["slurmCluster"]["namespace"], "ns")

    def test_of_a_clusters_namespace_it_may_read_that_cluster_and_its_secret_alone(self):
        name = "mainspring-bridge-slurm-bridge-cluster"
        objects = render("mainspring-bridge", {"sharedConfig": {"slurmCluster": self.CLUSTER}})
        role = one(objects, "Role", name)
        self.assertEqual(role["metadata"]["namespace"], "slurm")
        wanted = [
            {
                "apiGroups": ["slinky.slurm.net"],
                "resources": ["clusters"],
                "resourceNames": ["campus"],
                "verbs": ["get", "list", "watch"],
            },
            {
                "apiGroups": [""],
                "resources": ["secrets"],
                "resourceNames": ["campus-token"],
                "verbs": ["get"],
            },
        ]
        self.assertEqual(role["rules"], wanted)
        binding = one(objects, "RoleBinding", name)
        self.assertEqual(binding["metadata"]["namespace"], "slurm")
        self.assertEqual(binding["roleRef"]["name"], name)
        account = {"name": "mainspring-bridge-slurm-bridge", "namespace": "ns"}
        self.assertEqual(binding["subjects"], [{"kind": "ServiceAccount", **account}])
        without = [each["metadata"]["name"] for each in render("mainspring-bridge", {})]
        self.assertNotIn(name, without)

    def test_a_cluster_that_is_half_named_is_refused(self):
        for change, words in (
            ({"secretName": ""}, "slurmCluster.secretName: needed"),
            ({"name": ""}, "slurmCluster.name: needed"),
            ({"name": "Campus"}, "name"),
            ({"namespace": "a/b"}, "namespace"),
            ({"secret": "x"}, "secret"),
        ):
            wrong = {"sharedConfig": {"slurmCluster": {**self.CLUSTER, **change}}}
            self.assertIn(words, self.refused("mainspring-bridge", wrong), change)
        both = {"slurmCluster": self.CLUSTER, "slurmJwtKeySecret": {"name": "key"}}
        answer = self.refused("mainspring-bridge", {"sharedConfig": both})
        self.assertIn("exclude each other", answer)

    def test_without_admission_nothing_is_asked(self):
        objects = render("mainspring-bridge", {"admission": {"enabled": False}})
        kinds = [each["kind"] for each in objects]
        self.assertNotIn("MutatingWebhookConfiguration", kinds)
        self.assertNotIn("ValidatingWebhookConfiguration", kinds)
        args = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
        self.assertFalse([arg for arg in args if "webhook" in arg])

    def test_slurm_bridges_values_are_understood_and_misspelt_ones_refused(self):
        values = {
            "scheduler": {"replicaCount": 2, "verbosity": 5, "featureGates": {"A": True}},
            "admission": {"replicas": 2, "certManager": {"enabled": True, "duration": "1h"}},
            "controllers": {"replicas": 2, "leaderElect": True, "pdb": {"enabled": True}},
            "sharedConfig": {"slurmJwtSecret": {"name": "mine", "key": "SLURM_JWT"}},
        }
        objects = render("mainspring-bridge", values)
        deployment = one(objects, "Deployment")
        self.assertEqual(deployment["spec"]["replicas"], 2)
        args = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
        self.assertIn("--log-level=debug", args)
        self.assertIn("replcas", self.refused("mainspring-bridge", {"scheduler": {"replcas": 2}}))
        wrong = {"schedulerConfig": {"schedulerName": "default-scheduler"}}
        self.assertIn("schedulerName", self.refused("mainspring-bridge", wrong))


class SlurmChartTest(ChartsTest):
    def test_a_node_set_names_its_nodes_after_its_key(self):
        objects = render("slurm", {"nodesets": {"gpu": {"replicas": 3}}})
        spec = one(objects, "NodeSet", "slurm-worker-gpu")["spec"]
        self.assertEqual(spec["template"]["spec"]["hostname"], "gpu-")
        self.assertEqual(spec["replicas"], 3)

    def test_what_a_set_does_not_say_comes_from_the_defaults(self):
        values = {
            "nodesetDefaults": {"slurmd": {"resources": {"limits": {"cpu": "2"}}}},
            "nodesets": {"a": {"slurmd": {"args": ["-vv"]}}, "b": {"enabled": False}},
        }
        objects = render("slurm", values)
        slurmd = one(objects, "NodeSet")["spec"]["slurmd"]
        self.assertEqual(slurmd["resources"], {"limits": {"cpu": "2"}})
        self.assertEqual(slurmd["args"], ["-vv"])

    def test_empty_values_do_not_reach_the_operator(self):
        values = {"nodesets": {"a": {"podSpec": {"tolerations": [], "affinity": {}}}}}
        spec = one(render("slurm", values), "NodeSet")["spec"]["template"]["spec"]
        self.assertNotIn("tolerations", spec)
        self.assertNotIn("affinity", spec)

    def test_an_explicit_false_does(self):
        values = {"nodesets": {"a": {"slurmd": {"securityContext": {"privileged": False}}}}}
        slurmd = one(render("slurm", values), "NodeSet")["spec"]["slurmd"]
        self.assertIs(slurmd["securityContext"]["privileged"], False)

    def test_an_image_is_a_text_or_a_map_and_a_digest_wins(self):
        def image(value) -> str:
            objects = render("slurm", {"controller": {"slurmctld": {"image": value}}})
            return one(objects, "Controller")["spec"]["slurmctld"]["image"]

        self.assertEqual(image("a/b:c"), "a/b:c")
        self.assertEqual(image({"repository": "a", "tag": "1"}), "a:1")
        self.assertEqual(image({"repository": "a", "tag": "1", "digest": "sha256:2"}), "a@sha256:2")
        wrong = {"controller": {"slurmctld": {"image": {"repository": "a", "tag": None}}}}
        self.assertIn("tag or a digest", self.refused("slurm", wrong))

    def test_configuration_is_a_text_or_a_map(self):
        def conf(controller: dict) -> str:
            return one(render("slurm", {"controller": controller}), "Controller")["spec"][
                "extraConf"
            ]

        as_map = {"B": ["x", "z"], "A": 1000000, "C": "", "D": None}
        self.assertEqual(conf({"extraConfMap": as_map}), "A=1000000\nB=x,z")
        self.assertEqual(conf({"extraConfMap": as_map, "extraConf": "E=1"}), "E=1")

    def test_partitions_go_behind_the_configuration(self):
        values = {
            "controller": {"extraConf": "A=1\n"},
            "nodesets": {"cpu": {}},
            "partitions": {
                "p": {"enabled": True, "nodesets": ["cpu"], "configMap": {"MaxTime": "1:00"}}
            },
        }
        conf = one(render("slurm", values), "Controller")["spec"]["extraConf"]
        self.assertEqual(conf, "A=1\nPartitionName=p Nodes=cpu MaxTime=1:00")
        values["partitions"]["p"]["nodesets"] = ["other"]
        self.assertIn("other", self.refused("slurm", values))
        values["partitions"]["p"]["nodesets"] = []
        self.assertIn("empty", self.refused("slurm", values))

    def test_the_bridge_gets_a_partition_and_what_is_advised_unless_somebody_knows_better(self):
        def lines(**values) -> list[str]:
            values = {"bridge": {"enabled": True}, **values}
            conf = one(render("slurm", values), "Controller")["spec"]["extraConf"]
            return conf.splitlines()

        advised = (
            "SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,default_queue_depth=10000,"
            "bf_interval=5,bf_max_job_test=10000,bf_continue"
        )
        partition = [
            "NodeSet=slurm-bridge Feature=slurm-bridge",
            "PartitionName=slurm-bridge Nodes=slurm-bridge MaxTime=UNLIMITED",
        ]
        self.assertEqual(lines()[-2:], partition)
        self.assertIn(advised, lines())
        own = lines(controller={"extraConf": "A=1\n schedulerparameters = bf_interval=30\n"})
        self.assertNotIn(advised, own)
        self.assertEqual(own[:2], ["A=1", " schedulerparameters = bf_interval=30"])
        self.assertIn("AccountingStoreFlags=job_comment", own)
        other = {"enabled": True, "partition": "pods", "config": "Default=YES", "settings": None}
        self.assertIn("PartitionName=pods Nodes=pods Default=YES", lines(bridge=other))
        self.assertIn("partition", self.refused("slurm", {"bridge": {"partition": "a b"}}))

    def test_scripts_get_their_prefix_and_are_referred_to(self):
        objects = render(
            "slurm", {"prologScripts": {"a.sh": "exit 0\n"}, "prologScriptRefs": [{"name": "mine"}]}
        )
        self.assertEqual(
            one(objects, "ConfigMap", "slurm-prolog-scripts")["data"], {"prolog-a.sh": "exit 0\n"}
        )
        refs = one(objects, "Controller")["spec"]["prologScriptRefs"]
        self.assertEqual(refs, [{"name": "slurm-prolog-scripts"}, {"name": "mine"}])

    def test_slurmctld_gets_script_and_key_where_it_is_to_push(self):
        to = [{"host": "mainspring.ops", "port": 1}, {"host": "b.x", "port": 2, "path": "/p"}]
        push = {"enabled": True, "to": to, "keySecret": {"name": "mine", "key": "k"}}
        mine = {"name": "data", "mountPath": "/data"}
        values = {"push": push, "controller": {"slurmctld": {"volumeMounts": [mine]}}}
        objects = render("slurm", {**values, "epilogSlurmctldScripts": {"a.sh": "exit 0\n"}})
        spec = one(objects, "Controller")["spec"]
        for when, names in (
            ("prolog", {"mainspring-push.sh"}),
            ("epilog", {"mainspring-push.sh", "a.sh"}),
        ):
            scripts = one(objects, "ConfigMap", f"slurm-{when}-slurmctld-scripts")
            prefix = f"{when}-slurmctld-"
            self.assertEqual(set(scripts["data"]), {prefix + name for name in names})
            refs = spec[f"{when}SlurmctldScriptRefs"]
            self.assertEqual(refs, [{"name": scripts["metadata"]["name"]}])
            script = scripts["data"][prefix + "mainspring-push.sh"]
            self.assertIn("tell_all mainspring.ops 1 /slurm/events/ns/slurm\n", script)
            self.assertIn("tell_all b.x 2 /p\n", script)
        mount = {"name": "slurm-push", "mountPath": "/etc/slurm-push", "readOnly": True}
        self.assertEqual(spec["slurmctld"]["volumeMounts"], [mine, mount])
        (volume,) = spec["template"]["spec"]["volumes"]
        self.assertEqual(volume["secret"]["secretName"], "mine")
        self.assertEqual(volume["secret"]["items"], [{"key": "k", "path": "key"}])
        self.assertEqual(volume["secret"]["defaultMode"], 0o440)
        self.assertNotIn("push", yaml.safe_dump_all(render("slurm", {})))
        wrong = {"push": {"to": [{"host": "a; b", "port": 1}]}}
        self.assertIn("host", self.refused("slurm", wrong))

    def test_the_example_without_the_chart_pushes_as_the_chart_does(self):
        objects = list(yaml.safe_load_all(PUSH_EXAMPLE.read_text()))
        made = render("slurm", {"push": {"enabled": True}}, namespace="slurm")
        chart = one(made, "ConfigMap", "slurm-prolog-slurmctld-scripts")["data"]
        script = one(objects, "ConfigMap")["data"]["mainspring-push.sh"]
        self.assertEqual(script, chart["prolog-slurmctld-mainspring-push.sh"])
        own, charts = one(objects, "Controller")["spec"], one(made, "Controller")["spec"]
        self.assertEqual(own["template"]["spec"]["volumes"], charts["template"]["spec"]["volumes"])
        self.assertEqual(own["slurmctld"]["volumeMounts"], charts["slurmctld"]["volumeMounts"])

    def test_keys_are_made_unless_given_or_the_controller_is_elsewhere(self):
        def secrets(values: dict) -> list[str]:
            return [o["metadata"]["name"] for o in render("slurm", values) if o["kind"] == "Secret"]

        self.assertEqual(secrets({}), ["slurm-auth-slurm", "slurm-auth-jwt"])
        self.assertEqual(secrets({"slurmKey": {"create": False}}), ["slurm-auth-jwt"])
        self.assertEqual(secrets({"controller": {"external": True}}), [])

    def test_the_class_of_a_volume(self):
        def claim(persistence: dict) -> dict:
            objects = render("slurm", {"controller": {"persistence": persistence}})
            return one(objects, "Controller")["spec"]["persistence"]

        self.assertNotIn("storageClassName", claim({}))
        self.assertEqual(claim({"storageClassName": "-"})["storageClassName"], "")
        self.assertEqual(claim({"storageClassName": "fast"})["storageClassName"], "fast")

    def test_a_misspelt_value_is_refused_wherever_it_is(self):
        self.assertIn("replcas", self.refused("slurm", {"nodesets": {"a": {"replcas": 1}}}))
        self.assertIn("nodeset", self.refused("slurm", {"nodeset": {}}))
        self.assertIn("propertyName", self.refused("slurm", {"nodesets": {"A_b": {}}}))

    def test_no_object_of_the_operator_says_which_chart_made_it(self):
        # Labels are handed on to pods, and a new version of the chart would restart them.
        for each in render("slurm", {}, "-f", str(EXAMPLE)):
            self.assertNotIn("helm.sh/chart", each["metadata"].get("labels", {}))


if __name__ == "__main__":
    unittest.main()
