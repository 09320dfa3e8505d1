{{- define "muster.name" -}}
{{- if contains "muster" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-muster{{ end }}
{{- end }}

{{- define "muster.selector" -}}
app.kubernetes.io/name: muster
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "muster.labels" -}}
{{ include "muster.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "muster.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* The domain of the pods' names. Each pod has its own name in its /etc/hosts, so that it needs no DNS to listen. */ -}}
{{- define "muster.nodes" -}}
{{ include "muster.name" . }}-nodes.{{ .Release.Namespace }}.svc.{{ .Values.cluster.domain }}
{{- end }}

{{- define "muster.peers" -}}
{{- $peers := list }}
{{- range $i := until (int .Values.nodes) }}
{{- $peers = append $peers (printf "%s-%d.%s:9222" (include "muster.name" $) $i (include "muster.nodes" $)) }}
{{- end }}
{{- join "," $peers }}
{{- end }}

{{- /* Non-empty if the session gateway listens for game clients: with keys or an issuer. */ -}}
{{- define "muster.gateway" -}}
{{- if or .Values.gateway.keysSecret (index .Values.settings "gateway-jwt-issuer") }}yes{{ end }}
{{- end }}

{{- /* The scheme of probes: muster answers both on one port, unless it refuses requests without TLS. */ -}}
{{- define "muster.scheme" -}}
{{- if eq (index .Values.settings "plaintext" | default "allow") "refuse" }}HTTPS{{ else }}HTTP{{ end }}
{{- end }}

{{- /* A setting as a variable: lists with commas, on and off, which are booleans in YAML, and whole numbers. */ -}}
{{- define "muster.value" -}}
{{- if kindIs "slice" . }}{{ join "," . }}
{{- else if kindIs "bool" . }}{{ ternary "on" "off" . }}
{{- else if kindIs "float64" . }}{{ int64 . }}
{{- else }}{{ . }}{{ end }}
{{- end }}

{{- define "muster.url" -}}
{{- $scheme := ternary "wss" "ws" (or (ne .Values.tls.secret "") (eq (include "muster.scheme" .) "HTTPS")) }}
{{- .Values.publicURL | default (printf "%s://%s.%s.svc.%s:9080" $scheme (include "muster.name" .) .Release.Namespace .Values.cluster.domain) }}
{{- end }}
