{{- define "slurm.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "slurm.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- /* The operator puts an object's labels on its pods too: one with the chart's version in it would
       restart them at every upgrade of the chart. */ -}}
{{- define "slurm.labels" -}}
app.kubernetes.io/part-of: slurm
{{- end -}}

{{- /* An image as text, from a text or a map. */ -}}
{{- define "slurm.image" -}}
{{- if kindIs "string" . -}}
{{- . -}}
{{- else if .digest -}}
{{- printf "%s@%s" (required "an image needs a repository" .repository) .digest -}}
{{- else -}}
{{- printf "%s:%s" (required "an image needs a repository" .repository) (required "an image needs a tag or a digest" .tag | toString) -}}
{{- end -}}
{{- end -}}

{{- /* A map without its empty values. They must not reach the operator, which takes an empty list for
       the wish to have none. false and 0 are values. */ -}}
{{- define "slurm.pruned" -}}
{{- $out := dict -}}
{{- range $key, $value := . -}}
{{- if not (or (kindIs "invalid" $value) (and (kindIs "string" $value) (not $value)) (and (or (kindIs "map" $value) (kindIs "slice" $value)) (not $value))) -}}
{{- $_ := set $out $key $value -}}
{{- end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}

{{- /* (dict "root" $ "container" MAP): the container as it goes into an object. */ -}}
{{- define "slurm.container" -}}
{{- $container := include "slurm.pruned" .container | fromYaml -}}
{{- $_ := set $container "image" (include "slurm.image" .container.image) -}}
{{- if not (hasKey $container "imagePullPolicy") -}}
{{- $_ := set $container "imagePullPolicy" .root.Values.imagePullPolicy -}}
{{- end -}}
{{- toYaml $container -}}
{{- end -}}

{{- /* (dict "root" $ "metadata" MAP "podSpec" MAP): a pod template. */ -}}
{{- define "slurm.template" -}}
{{- $spec := include "slurm.pruned" (default dict .podSpec) | fromYaml -}}
{{- with .root.Values.imagePullSecrets -}}
{{- $_ := set $spec "imagePullSecrets" . -}}
{{- end -}}
{{- if and .root.Values.priorityClass.enabled (not (hasKey $spec "priorityClassName")) -}}
{{- $_ := set $spec "priorityClassName" .root.Values.priorityClass.name -}}
{{- end -}}
{{- with include "slurm.pruned" (default dict .metadata) | fromYaml -}}
metadata: {{- toYaml . | nindent 2 }}
{{ end -}}
spec: {{- toYaml $spec | nindent 2 }}
{{- end -}}

{{- /* (dict "text" T "map" M "join" J): the text, or Key=Value of the map. */ -}}
{{- define "slurm.conf" -}}
{{- if .text -}}
{{- .text -}}
{{- else -}}
{{- $items := list -}}
{{- range $key, $value := .map -}}
{{- if kindIs "slice" $value -}}
{{- $value = join "," $value -}}
{{- else if kindIs "float64" $value -}}
{{- $value = ternary (toString (int64 $value)) (toString $value) (eq (toString (floor $value)) (toString $value)) -}}
{{- end -}}
{{- if $value -}}
{{- $items = append $items (printf "%s=%v" $key $value) -}}
{{- end -}}
{{- end -}}
{{- join .join $items -}}
{{- end -}}
{{- end -}}

{{- /* Keys of the cluster: {name, key}. */ -}}
{{- define "slurm.slurmKeyRef" -}}
{{- $ref := default dict .Values.slurmKey.secretRef -}}
name: {{ default (printf "%s-auth-slurm" (include "slurm.fullname" .)) $ref.name }}
key: {{ default "slurm.key" $ref.key }}
{{- end -}}

{{- define "slurm.jwtKeyRef" -}}
{{- $ref := default dict .Values.jwtKey.secretRef -}}
name: {{ default (printf "%s-auth-jwt" (include "slurm.fullname" .)) $ref.name }}
key: {{ default "jwt.key" $ref.key }}
{{- end -}}

{{- define "slurm.keyRefs" -}}
slurmKeyRef: {{- include "slurm.slurmKeyRef" . | nindent 2 }}
jwtKeyRef: {{- include "slurm.jwtKeyRef" . | nindent 2 }}
{{- if .Values.jwksKeys.enabled }}
jwksKeyRef:
  name: {{ required "jwksKeys.configMapRef.name is missing" .Values.jwksKeys.configMapRef.name }}
  key: {{ required "jwksKeys.configMapRef.key is missing" .Values.jwksKeys.configMapRef.key }}
{{- end }}
{{- end -}}

{{- define "slurm.sssdConfRef" -}}
{{- $ref := default dict .Values.sssd.secretRef -}}
name: {{ default (printf "%s-sssd-conf" (include "slurm.fullname" .)) $ref.name }}
key: {{ default "sssd.conf" $ref.key }}
{{- end -}}

{{- /* (dict "sets" MAP "defaults" MAP): the enabled sets, each complete. */ -}}
{{- define "slurm.sets" -}}
{{- $out := dict -}}
{{- $defaults := .defaults -}}
{{- range $key, $set := .sets -}}
{{- $whole := mergeOverwrite (deepCopy $defaults) (default dict $set) -}}
{{- if $whole.enabled -}}
{{- $_ := set $out $key $whole -}}
{{- end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}

{{- define "slurm.nodesets" -}}
{{- include "slurm.sets" (dict "sets" .Values.nodesets "defaults" .Values.nodesetDefaults) -}}
{{- end -}}

{{- define "slurm.loginsets" -}}
{{- include "slurm.sets" (dict "sets" .Values.loginsets "defaults" .Values.loginsetDefaults) -}}
{{- end -}}

{{- /* Lines of slurm.conf for the partitions over several sets. */ -}}
{{- define "slurm.partitions" -}}
{{- $sets := include "slurm.nodesets" . | fromYaml -}}
{{- $lines := list -}}
{{- range $name, $partition := .Values.partitions -}}
{{- if $partition.enabled -}}
{{- if not $partition.nodesets -}}
{{- fail (printf "partitions.%s.nodesets is empty; name node sets, or ALL" $name) -}}
{{- end -}}
{{- range $partition.nodesets -}}
{{- if not (or (eq . "ALL") (hasKey $sets .)) -}}
{{- fail (printf "partitions.%s.nodesets has %q, which is no enabled node set" $name .) -}}
{{- end -}}
{{- end -}}
{{- $config := include "slurm.conf" (dict "text" $partition.config "map" $partition.configMap "join" " ") -}}
{{- $lines = append $lines (printf "PartitionName=%s Nodes=%s %s" $name (join "," $partition.nodesets) $config | trim) -}}
{{- end -}}
{{- end -}}
{{- join "\n" $lines -}}
{{- end -}}

{{- /* (dict "root" $ "conf" TEXT): what the bridge wants in slurm.conf and TEXT does not set. */ -}}
{{- define "slurm.bridge" -}}
{{- $lines := list -}}
{{- with .root.Values.bridge -}}
{{- if .enabled -}}
{{- range $key, $value := .settings -}}
{{- if not (regexMatch (printf "(?im)^[ \t]*%s[ \t]*=" $key) $.conf) -}}
{{- $lines = append $lines (include "slurm.conf" (dict "map" (dict $key $value) "join" "")) -}}
{{- end -}}
{{- end -}}
{{- $config := include "slurm.conf" (dict "text" .config "map" .configMap "join" " ") -}}
{{- $lines = append $lines (printf "NodeSet=%s Feature=%s" .partition .partition) -}}
{{- $lines = append $lines (printf "PartitionName=%s Nodes=%s %s" .partition .partition $config | trim) -}}
{{- end -}}
{{- end -}}
{{- compact $lines | join "\n" -}}
{{- end -}}

{{- /* (dict "root" $ "name" N "scripts" MAP "refs" LIST): references to ConfigMaps with files. */ -}}
{{- define "slurm.refs" -}}
{{- $refs := list -}}
{{- if .scripts -}}
{{- $refs = append $refs (dict "name" (printf "%s-%s" (include "slurm.fullname" .root) .name)) -}}
{{- end -}}
{{- range .refs -}}
{{- $refs = append $refs . -}}
{{- end -}}
{{- with $refs -}}
{{- toYaml . -}}
{{- end -}}
{{- end -}}

{{- define "slurm.persistence" -}}
{{- $out := include "slurm.pruned" (omit . "storageClassName") | fromYaml -}}
{{- if not (kindIs "invalid" .storageClassName) -}}
{{- $_ := set $out "storageClassName" (ternary "" .storageClassName (eq .storageClassName "-")) -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}
