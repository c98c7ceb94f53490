{{/* Names and what all pods share. */}}
{{- define "cosmark.name" -}}
{{- printf "%s-cosmark" .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end }}

{{- define "cosmark.labels" -}}
app.kubernetes.io/name: cosmark
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "cosmark.image" -}}
{{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
{{- end }}

{{- define "cosmark.nats" -}}
{{- if .Values.natsConnection.url -}}
{{ .Values.natsConnection.url }}
{{- else if .Values.nats.enabled -}}
{{- /* The NATS chart calls itself by the release alone where that has its name in it. */ -}}
nats://{{ if contains "nats" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-nats{{ end }}:4222
{{- else -}}
{{ fail "nats.enabled is false and natsConnection.url is empty: say where NATS is" }}
{{- end -}}
{{- end }}

{{- define "cosmark.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "cosmark.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "cosmark.tokenArgs" -}}
{{- if .Values.natsConnection.tokenSecret.name }}
- --nats-token-file
- /etc/cosmark/nats/token
{{- end }}
{{- end }}

{{- define "cosmark.tokenMount" -}}
{{- if .Values.natsConnection.tokenSecret.name }}
- {name: nats-token, mountPath: /etc/cosmark/nats, readOnly: true}
{{- end }}
{{- end }}

{{- define "cosmark.tokenVolume" -}}
{{- if .Values.natsConnection.tokenSecret.name }}
- name: nats-token
  secret:
    secretName: {{ .Values.natsConnection.tokenSecret.name | quote }}
    defaultMode: 0440
    items: [{key: {{ .Values.natsConnection.tokenSecret.key | quote }}, path: token}]
{{- end }}
{{- end }}
