{{- /*
Copyright The Kubizone Authors.
SPDX-License-Identifier: Apache-2.0

Names are fixed, because a cluster has one APIService v1alpha1.kubi.zone and so one installation. templates/NAME renders
into artifacts/deploy/NAME (go test ./test/deploy -run Chart -update): a comment with "#" is for readers of both, one with "/*" for this chart.
*/ -}}

{{- define "kubizone.image" -}}
{{- $image := .Values.image -}}
{{ $image.repository }}:{{ $image.tag | default (printf "v%s" .Chart.AppVersion) }}{{ with $image.digest }}@{{ . }}{{ end }}
{{- end -}}

{{- /* 83 % of limits.memory, in MiB: the collector works harder before the limit ends the process. */ -}}
{{- define "kubizone.goMemLimit" -}}
{{- $limit := .resources.limits.memory -}}
{{- $mib := trimSuffix "Mi" $limit | int -}}
{{- if hasSuffix "Gi" $limit -}}{{- $mib = mul 1024 (trimSuffix "Gi" $limit | int) -}}{{- end -}}
{{ div (add (mul $mib 83) 50) 100 }}MiB
{{- end -}}

{{- define "kubizone.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{- /* What all programs have: root is the chart's context, of the values of the program, name that of its objects. */ -}}

{{- define "kubizone.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  {{- with .of.serviceAccountAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
  labels:
    app.kubernetes.io/part-of: kubizone
automountServiceAccountToken: false
{{- end -}}

{{- define "kubizone.podMetadata" -}}
metadata:
  {{- with .of.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
  labels:
    app.kubernetes.io/name: {{ .name }}
    {{- with .of.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{- define "kubizone.leases" -}}
# Each replica renews a Lease of its own, by which conditions name a process that ended (S7.12). A process cannot write the
# Leases of another, nor that of an election; RBAC cannot bound create by a name.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames:
  {{- range until 8 }}
  - kubizone-{{ $ }}-{{ . }}
  {{- end }}
  verbs: [get, update]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
{{- end -}}

{{- define "kubizone.env" -}}
# The collector works harder before the limit ends the process.
- name: GOMEMLIMIT
  value: {{ include "kubizone.goMemLimit" .of }}
{{- with .of.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "kubizone.pod" -}}
serviceAccountName: {{ .name }}
automountServiceAccountToken: true
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
- name: {{ . }}
{{- end }}
{{- end }}
{{- with .of.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .of.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.tolerations }}
tolerations: {{- toYaml . | nindent 0 }}
{{- end }}
{{- end -}}

{{- define "kubizone.tracingArg" -}}
--tracing-config-file=/run/kubizone/tracing/tracing.yaml
{{- end -}}

{{- define "kubizone.tracingMount" -}}
- name: tracing
  mountPath: /run/kubizone/tracing
  readOnly: true
{{- end -}}

{{- define "kubizone.tracingVolume" -}}
- name: tracing
  configMap:
    name: kubizone-tracing
{{- end -}}

{{- define "kubizone.probes" -}}
# It is not ready while it reads the zones for the first time, and alive from the beginning.
livenessProbe:
  httpGet: {path: /livez, port: health}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: health}
  periodSeconds: 3
  timeoutSeconds: 5
  failureThreshold: 2
{{- end -}}

{{- define "kubizone.cidrs" -}}
from:
{{- range . }}
- ipBlock: {cidr: {{ . | quote }}}
{{- end }}
{{- end -}}

{{- /* In the mode embedded, controller and primary run in the server's process, after "--" (docs/install.md). */ -}}
{{- define "kubizone.controllerArgs" -}}
- controller
{{- if and .Values.tracing.endpoint (ne .Values.mode "embedded") }}
- {{ include "kubizone.tracingArg" . }}
{{- end }}
- --health-listen=:8080
- --lease=$(POD_NAMESPACE)/kubizone-controller
{{- if eq .Values.mode "embedded" }}
- --as=system:serviceaccount:$(POD_NAMESPACE):kubizone-controller
{{- else }}
- -v=1
{{- end }}
{{- range .Values.controller.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "kubizone.primaryArgs" -}}
- primary
{{- if and .Values.tracing.endpoint (ne .Values.mode "embedded") }}
- {{ include "kubizone.tracingArg" . }}
{{- end }}
- --dns-listen=:5353
# Of DNSClasses with tls. BIND 9.18 asks by UDP first, is refused, and goes on with TLS at once.
- --dns-tls-listen=:8530
- --health-listen=:{{ ternary 8081 8080 (eq .Values.mode "embedded") }}
# The first NOTIFY waits until this Service leads to the pod.
- --service=kubizone-primary
{{- if .Values.primary.tsigSecretName }}
# By default from everywhere, with one of the keys.
- --transfer-allow={{ join "," .Values.primary.transferAllow }}
{{- with .Values.primary.transferTo }}
- --transfer-to={{ join "," . }}
{{- end }}
- --tsig-key-file=/run/kubizone/tsig/key
{{- else }}
{{- if .Values.primary.transferTo }}
{{- fail "primary.transferTo names secondaries, and without primary.tsigSecretName they may transfer nothing: name the Secret with their key, or list them in a DNSClass" }}
{{- end }}
# Zones go to the servers of DNSClasses alone.
- --transfer-allow=
{{- end }}
{{- if eq .Values.mode "embedded" }}
- --as=system:serviceaccount:$(POD_NAMESPACE):kubizone-primary
{{- else }}
- -v=1
{{- end }}
{{- range .Values.primary.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "kubizone.primaryPorts" -}}
- name: dns
  containerPort: 5353
  protocol: UDP
- name: dns-tcp
  containerPort: 5353
  protocol: TCP
- name: dns-tls
  containerPort: 8530
  protocol: TCP
- name: dns-tls-udp
  containerPort: 8530
  protocol: UDP
{{- end -}}

{{- define "kubizone.refuseOfOwnPod" -}}
{{- range $part := list "controller" "primary" -}}
{{- $of := index $.Values $part -}}
{{- range $key := list "extraEnv" "priorityClassName" "nodeSelector" "tolerations" "affinity" "podAnnotations" "podLabels" -}}
{{- if and $of.enabled (index $of $key) -}}
{{- fail (printf "%s.%s: in the mode embedded the %s runs in the server's pod: set apiserver.%s, or mode=ha" $part $key $part $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "kubizone.apiserverResources" -}}
{{- $usual := dict "requests" (dict "cpu" "200m" "memory" "512Mi") "limits" (dict "memory" "2Gi") -}}
{{- if eq .Values.mode "embedded" -}}
{{- $usual = dict "requests" (dict "cpu" "100m" "memory" "256Mi") "limits" (dict "memory" "512Mi") -}}
{{- end -}}
{{- toYaml (mergeOverwrite $usual (deepCopy .Values.apiserver.resources)) -}}
{{- end -}}

{{- /* What no upgrade can do is refused with the way to it, before anything is changed. */ -}}
{{- define "kubizone.refuseReplacing" -}}
{{- $set := lookup "apps/v1" "StatefulSet" .Release.Namespace "kubizone-apiserver" -}}
{{- $installed := "" -}}
{{- if $set -}}
{{- $installed = ternary "ha" "embedded" (eq $set.spec.serviceName "kubizone-etcd") -}}
{{- else if lookup "apps/v1" "Deployment" .Release.Namespace "kubizone-apiserver" -}}
{{- $installed = "external-etcd" -}}
{{- end -}}
{{- if and $installed (ne $installed .Values.mode) -}}
{{- fail (printf "mode: %s is installed, and its zones would not be in %s: keep mode=%s, or take a backup, uninstall, install and restore (docs/operations.md, Backup)" $installed .Values.mode $installed) -}}
{{- end -}}
{{- if $set -}}
{{- $claim := (index $set.spec.volumeClaimTemplates 0).spec -}}
{{- if ne $claim.resources.requests.storage .Values.storage.size -}}
{{- fail (printf "storage.size: the StatefulSet asks for %s, and Kubernetes does not let this be changed: resize the claims (kubectl patch pvc), kubectl delete statefulset -n %s kubizone-apiserver --cascade=orphan, and upgrade again" $claim.resources.requests.storage .Release.Namespace) -}}
{{- end -}}
{{- if and .Values.storage.className (ne (default "" $claim.storageClassName) .Values.storage.className) -}}
{{- fail (printf "storage.className: the StatefulSet has %q, and Kubernetes does not let this be changed: keep it, or take a backup, uninstall, install and restore (docs/operations.md, Backup)" (default "" $claim.storageClassName)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
