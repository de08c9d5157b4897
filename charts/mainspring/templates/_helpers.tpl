{{- define "mainspring.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "mainspring.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "mainspring.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "mainspring.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "mainspring.selector" -}}
app.kubernetes.io/name: {{ include "mainspring.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "mainspring.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: mainspring
{{ include "mainspring.selector" . }}
{{- end -}}

{{- define "mainspring.image" -}}
{{- with .Values.operator.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "mainspring.serviceAccount" -}}
{{- if .Values.operator.serviceAccount.create -}}
{{- default (include "mainspring.fullname" .) .Values.operator.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.operator.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "mainspring.webhookService" -}}
{{- include "mainspring.fullname" . | trunc 55 | trimSuffix "-" }}-webhook
{{- end -}}

{{- define "mainspring.webhookSecret" -}}
{{- include "mainspring.fullname" . | trunc 49 | trimSuffix "-" }}-webhook-certs
{{- end -}}

{{- /* The namespaces to be watched, as {"list": [...]}; empty for all. */ -}}
{{- define "mainspring.namespaces" -}}
{{- $list := list -}}
{{- range splitList "," .Values.operator.namespaces -}}
{{- with trim . }}{{ $list = append $list . }}{{ end -}}
{{- end -}}
{{- dict "list" (uniq $list) | toJson -}}
{{- end -}}
