{{- /* What the operator does in the namespaces that it watches. */ -}}
{{- define "mainspring.namespacedRules" -}}
{{- $all := list "create" "delete" "get" "list" "patch" "update" "watch" | toJson -}}
- apiGroups: [""]
  resources: [configmaps, events, persistentvolumeclaims, pods, secrets, services]
  verbs: {{ $all }}
- apiGroups: [""]
  resources: [pods/status]
  verbs: [get, patch, update]
# A Token's Secret is owned by the Secret with its key.
- apiGroups: [""]
  resources: [secrets/finalizers]
  verbs: [update]
- apiGroups: [apps]
  resources: [controllerrevisions, deployments, statefulsets]
  verbs: {{ $all }}
# The names of login pods.
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: {{ $all }}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
- apiGroups: [monitoring.coreos.com]
  resources: [servicemonitors]
  verbs: {{ $all }}
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: {{ $all }}
- apiGroups: [slinky.slurm.net]
  resources: [accountings, clusters, controllers, loginsets, nodesets, restapis, tokens]
  verbs: {{ $all }}
- apiGroups: [slinky.slurm.net]
  resources:
    - accountings/status
    - clusters/status
    - controllers/status
    - loginsets/status
    - nodesets/status
    - restapis/status
    - tokens/status
  verbs: [get, patch, update]
- apiGroups: [slinky.slurm.net]
  resources:
    - accountings/finalizers
    - clusters/finalizers
    - controllers/finalizers
    - loginsets/finalizers
    - nodesets/finalizers
    - restapis/finalizers
    - tokens/finalizers
  verbs: [update]
{{- end -}}

{{- /* What has no namespace. */ -}}
{{- define "mainspring.clusterRules" -}}
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, list, watch]
{{- if .Values.operator.metricsSecure }}
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}
{{- if .Values.webhook.enabled }}
# For the caBundle.
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
  resourceNames: [{{ include "mainspring.fullname" . | quote }}]
  verbs: [get, list, patch, watch]
{{- end }}
{{- end -}}
