{{- define "bridge.name" -}}
{{- default "slurm-bridge" .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "bridge.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "bridge.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "bridge.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "bridge.selector" -}}
app.kubernetes.io/name: {{ include "bridge.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "bridge.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: mainspring
{{ include "bridge.selector" . }}
{{- end -}}

{{- define "bridge.image" -}}
{{- with .Values.scheduler.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "bridge.serviceAccount" -}}
{{- if .Values.scheduler.serviceAccount.create -}}
{{- default (include "bridge.fullname" .) .Values.scheduler.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.scheduler.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* As whom the API server knows the bridge. */ -}}
{{- define "bridge.user" -}}
system:serviceaccount:{{ include "bridge.namespace" . }}:{{ include "bridge.serviceAccount" . }}
{{- end -}}

{{- define "bridge.webhookService" -}}
{{- include "bridge.fullname" . | trunc 55 | trimSuffix "-" }}-webhook
{{- end -}}

{{- define "bridge.webhookSecret" -}}
{{- include "bridge.fullname" . | trunc 49 | trimSuffix "-" }}-webhook-certs
{{- end -}}

{{- define "bridge.logLevel" -}}
{{- if ge (int (default 0 .Values.scheduler.verbosity)) 4 }}debug{{ else }}{{ .Values.scheduler.logLevel }}{{ end -}}
{{- end -}}

{{- /* Where the Cluster is that says where Slurm is; its name, checked, is empty where there is none. */ -}}
{{- define "bridge.clusterNamespace" -}}
{{- default (include "bridge.namespace" .) .Values.sharedConfig.slurmCluster.namespace -}}
{{- end -}}
{{- define "bridge.cluster" -}}
{{- with .Values.sharedConfig -}}
{{- if .slurmCluster.name -}}
{{- if not .slurmCluster.secretName -}}
{{- fail "sharedConfig.slurmCluster.secretName: needed with a name; what the Cluster has as spec.token.secretRef" -}}
{{- end -}}
{{- if .slurmJwtKeySecret.name -}}
{{- fail "sharedConfig: slurmCluster and slurmJwtKeySecret exclude each other; the token is that of the Cluster's Secret" -}}
{{- end -}}
{{- else if or .slurmCluster.namespace .slurmCluster.secretName -}}
{{- fail "sharedConfig.slurmCluster.name: needed; without it no Cluster is looked at" -}}
{{- end -}}
{{- .slurmCluster.name -}}
{{- end -}}
{{- end -}}

{{- /* The bridge's configuration file. */ -}}
{{- define "bridge.config" -}}
{{- with .Values.schedulerConfig -}}
schedulerName: {{ .schedulerName }}
{{- if include "bridge.cluster" $ }}
slurmCluster:
  namespace: {{ include "bridge.clusterNamespace" $ | quote }}
  name: {{ include "bridge.cluster" $ | quote }}
{{- else }}
slurmRestApi: {{ $.Values.sharedConfig.slurmRestApi }}
{{- end }}
{{- if $.Values.admission.managedNamespaceSelector }}
managedNamespaceSelector: {{- toYaml $.Values.admission.managedNamespaceSelector | nindent 2 }}
{{- else }}
managedNamespaces: {{- toYaml $.Values.admission.managedNamespaces | nindent 2 }}
{{- end }}
mcsLabel: {{ .mcsLabel | quote }}
partition: {{ .partition }}
exclusiveByDefault: {{ .exclusiveByDefault }}
taintNodes: {{ .taintNodes }}
cordonNodes: {{ .cordonNodes }}
{{- with .identities }}
identities: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClasses }}
priorityClasses: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .deviceClasses }}
deviceClasses: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
{{- end -}}
