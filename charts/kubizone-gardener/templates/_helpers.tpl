{{- /*
Copyright The Kubizone Authors.
SPDX-License-Identifier: Apache-2.0
*/ -}}
{{- define "kubizone-gardener.labels" -}}
app.kubernetes.io/name: kubizone-gardener
app.kubernetes.io/part-of: kubizone
{{- end }}
{{- define "kubizone-gardener.image" -}}
{{- $image := printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- with .Values.image.digest }}{{ $image = printf "%s@%s" $.Values.image.repository . }}{{ end -}}
{{- range .Values.imageVectorOverwrite }}{{ if eq .name "kubizone-gardener" }}{{ $image = .ref }}{{ end }}{{ end -}}
{{ $image | quote }}
{{- end }}
