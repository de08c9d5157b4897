{{- /* What slurmctld runs when a job starts and when it ends. It needs nothing but bash, since images of
       slurmctld may have no program for HTTP. It tells every replica behind a name, in the background,
       and always succeeds: slurmctld holds a job's start until PrologSlurmctld has ended, and requeues
       the job where that failed. What is left in the script's process group then is killed, so the
       background is another one (set -m). */ -}}
{{- define "slurm.pushScript" -}}
#!/bin/bash
set -m
# HOST PORT PATH
tell_all() {
  getent ahosts "$1" | while read -r address kind _; do
    [ "$kind" != STREAM ] || timeout 2 bash -c 'tell "$@"' - "$address" "$2" "$3" &
  done
}
# ADDRESS PORT PATH
tell() {
  read -r key </etc/slurm-push/key
  exec 3<>"/dev/tcp/$1/$2" || return
  printf 'POST %s HTTP/1.1\r\nHost: slurm-push\r\nConnection: close\r\n' "$3" >&3
  printf 'Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s' "$key" ${#body} "$body" >&3
  read -r _ <&3
}
export -f tell
export body="event=$SLURM_SCRIPT_CONTEXT&job_id=$SLURM_JOB_ID&nodes=$SLURM_JOB_NODELIST"
{
  {{- range .Values.push.to }}
  tell_all {{ .host }} {{ .port }} {{ default (printf "/slurm/events/%s/%s" (include "slurm.namespace" $) (include "slurm.fullname" $)) .path }}
  {{- end }}
} </dev/null >/dev/null 2>&1 &
exit 0
{{- end -}}

{{- /* (dict "root" $ "name" "prologSlurmctldScripts"): the scripts under that value, and ours, as
       JSON, which keeps the line break at their end. */ -}}
{{- define "slurm.scripts" -}}
{{- $scripts := deepCopy (default dict (index .root.Values .name)) -}}
{{- if and .root.Values.push.enabled (hasSuffix "SlurmctldScripts" .name) -}}
{{- $_ := set $scripts "mainspring-push.sh" (printf "%s\n" (include "slurm.pushScript" .root)) -}}
{{- end -}}
{{- toJson $scripts -}}
{{- end -}}

{{- /* The container of slurmctld, with the key. */ -}}
{{- define "slurm.slurmctld" -}}
{{- $container := deepCopy .Values.controller.slurmctld -}}
{{- if .Values.push.enabled -}}
{{- $mount := dict "name" "slurm-push" "mountPath" "/etc/slurm-push" "readOnly" true -}}
{{- $_ := set $container "volumeMounts" (append (default list $container.volumeMounts) $mount) -}}
{{- end -}}
{{- include "slurm.container" (dict "root" . "container" $container) -}}
{{- end -}}

{{- /* The PodSpec of slurmctld, with the key. */ -}}
{{- define "slurm.slurmctldPodSpec" -}}
{{- $spec := deepCopy (default dict .Values.controller.podSpec) -}}
{{- if .Values.push.enabled -}}
{{- $from := .Values.push.keySecret -}}
{{- $item := dict "key" $from.key "path" "key" -}}
{{- $secret := dict "secretName" $from.name "items" (list $item) "defaultMode" 288 -}}
{{- $_ := set $spec "volumes" (append (default list $spec.volumes) (dict "name" "slurm-push" "secret" $secret)) -}}
{{- end -}}
{{- toYaml $spec -}}
{{- end -}}
