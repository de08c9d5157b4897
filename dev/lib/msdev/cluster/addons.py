"""What a cluster with nodes has in it from the start: DNS and volumes. Pure: objects only.

Volumes are folders of this machine that every node sees at the same path, so a claim may be used
from any node in any access mode. They are made beforehand; a claim takes the smallest that fits.
"""

from .layout import Cluster
from .parts import COREDNS_IMAGE

STORAGE_CLASS = "standard"
# (how many, capacity that they claim to have). Nothing enforces a capacity.
VOLUMES = [(32, "10Gi"), (16, "100Gi"), (4, "1Ti")]
DNS = {"namespace": "kube-system", "name": "coredns"}
DNS_LABELS = {"k8s-app": "kube-dns"}

# Names outside the cluster do not exist in here: saying so at once beats waiting for nobody.
COREFILE = """cluster.local in-addr.arpa ip6.arpa {
    errors
    health
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
    }
    prometheus :9153
    cache 5
    loadbalance
    reload
}
. {
    errors
    template ANY ANY {
        rcode NXDOMAIN
    }
}
"""


def objects(cluster: Cluster) -> list[dict]:
    return [*_dns_rights(), *_dns(cluster), _storage_class(), *_volumes(cluster)]


def volume_names() -> list[str]:
    total = sum(count for count, _ in VOLUMES)
    return [f"volume-{number:02}" for number in range(1, total + 1)]


def _dns_rights() -> list[dict]:
    watch = ["list", "watch"]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "coredns"}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": DNS},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "coredns"},
            "rules": [
                {
                    "apiGroups": [""],
                    "resources": ["services", "pods", "namespaces"],
                    "verbs": watch,
                },
                {
                    "apiGroups": ["discovery.k8s.io"],
                    "resources": ["endpointslices"],
                    "verbs": watch,
                },
            ],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "coredns"},
            "roleRef": role,
            "subjects": [{"kind": "ServiceAccount", **DNS}],
        },
    ]


def _dns(cluster: Cluster) -> list[dict]:
    ports = [("dns", 53, "UDP"), ("dns-tcp", 53, "TCP"), ("metrics", 9153, "TCP")]
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": DNS,
            "data": {"Corefile": COREFILE},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"namespace": "kube-system", "name": "kube-dns", "labels": DNS_LABELS},
            "spec": {
                "clusterIP": cluster.dns_service,
                "selector": DNS_LABELS,
                "ports": [{"name": n, "port": p, "protocol": t} for n, p, t in ports],
            },
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {**DNS, "labels": DNS_LABELS},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": DNS_LABELS},
                "template": {"metadata": {"labels": DNS_LABELS}, "spec": _dns_pod()},
            },
        },
    ]


def _dns_pod() -> dict:
    container = {
        "name": "coredns",
        "image": COREDNS_IMAGE,
        "imagePullPolicy": "Never",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "ports": [
            {"name": "dns", "containerPort": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "containerPort": 53, "protocol": "TCP"},
        ],
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns", "readOnly": True}],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}, "periodSeconds": 2},
        "livenessProbe": {"httpGet": {"path": "/health", "port": 8080}, "failureThreshold": 5},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    return {
        "serviceAccountName": "coredns",
        "priorityClassName": "system-cluster-critical",
        "tolerations": [{"operator": "Exists"}],
        "dnsPolicy": "Default",
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": "coredns"}}],
    }


def _storage_class() -> dict:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": STORAGE_CLASS,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "kubernetes.io/no-provisioner",
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
    }


def _volumes(cluster: Cluster) -> list[dict]:
    capacities = [capacity for count, capacity in VOLUMES for _ in range(count)]
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": capacity},
                "accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"],
                "storageClassName": STORAGE_CLASS,
                # The data is deleted with the claim; the next `up` offers the volume again, empty.
                "persistentVolumeReclaimPolicy": "Delete",
                "hostPath": {"path": str(cluster.volumes / name), "type": "Directory"},
            },
        }
        for name, capacity in zip(volume_names(), capacities)
    ]
