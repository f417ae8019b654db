#!/bin/sh
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Sends Events of Kubizone, or large changes of a zone, as alerts to an Alertmanager. Needs kubectl, jq and curl.
#   ALERTMANAGER=http://alertmanager:9093 notify.sh events
#   ALERTMANAGER=http://alertmanager:9093 notify.sh changes NAMESPACE ZONE ENTRIES
# The account needs list and watch of events.events.k8s.io, or get of zones and zones/changes.
set -eu
: "${ALERTMANAGER:?is the URL of an Alertmanager}"

post() {
  while read -r alerts; do
    printf '%s' "$alerts" | curl -sS --fail --max-time 10 -H 'Content-Type: application/json' --data-binary @- "$ALERTMANAGER/api/v2/alerts" ||
      echo "not sent: $alerts" >&2
  done
}

events() {
  kubectl get events.events.k8s.io -A --watch-only -o json | jq --unbuffered -c '
    select(.reportingController | test("^kubizone")) |
    select(.reason | IN("MassDeletion", "DelegationWithdrawn", "DelegationRestored", "Expiring", "UpdateRefused", "HostTaken", "NameHidden")) |
    [{labels: {alertname: ("Kubizone" + .reason), severity: "info", namespace: .regarding.namespace, kind: .regarding.kind,
        name: .regarding.name}, annotations: {summary: .note}}]' | post
}

# $1 namespace, $2 zone, $3 entries of a change
changes() {
  kubectl get --raw "/apis/kubi.zone/v1alpha1/namespaces/$1/zones/$2/changes?watch=true" | jq --unbuffered -c --arg namespace "$1" --arg zone "$2" \
    --argjson most "$3" '
    select(.type == "MODIFIED") | .object as $at | [.object.changes[] | (.removed, .added)[]?] | length | select(. >= $most) |
    [{labels: {alertname: "KubizoneLargeChange", severity: "info", namespace: $namespace, kind: "Zone", name: $zone},
      annotations: {summary: "serial \($at.until) changes \(.) entries of \($at.fqdn)"}}]' | post
}

# A watch ends after 30 to 60 minutes.
while :; do
  "$@" || true
  sleep 1
done
