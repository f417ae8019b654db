#!/usr/bin/env bash
# Copyright The Kubizone Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Installs the DNS software the tests talk to, what makes networks for pods, and the C compiler the race detector needs,
# when any of it is missing, and with KUBIZONE_TEST_LONG=1 what the long form of tests alone needs. The names are those
# of Debian packages.
set -euo pipefail

# command or file:packages
peers=(
  'cc:gcc libc6-dev'
  named:bind9
  named-compilezone:bind9-utils
  named-checkzone:bind9-utils
  rndc:bind9-utils
  dig:bind9-dnsutils
  nsupdate:bind9-dnsutils
  kdig:knot-dnsutils
  knotd:knot
  pdns_server:pdns-server
  /usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql:pdns-backend-sqlite3
  sqlite3:sqlite3
  nsd:nsd
  promtool:prometheus
  prometheus-alertmanager:prometheus-alertmanager
  ip:iproute2
  nft:nftables
  pebble:pebble
  lego:lego
  certbot:certbot
  /usr/lib/python3/dist-packages/certbot_dns_rfc2136:python3-certbot-dns-rfc2136
  kea-dhcp-ddns:kea-dhcp-ddns-server
  chromium:chromium
)
[[ -z ${KUBIZONE_TEST_LONG:-} ]] || peers+=(ansible-playbook:ansible)

# named and its tools live in sbin, which an ordinary user's PATH may lack.
export PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

missing=()
for peer in "${peers[@]}"; do
  if ! { [[ $peer == /* && -e ${peer%%:*} ]] || command -v "${peer%%:*}" >/dev/null; }; then
    read -ra packages <<<"${peer##*:}"
    missing+=("${packages[@]}")
  fi
done
if ((${#missing[@]} == 0)); then
  exit 0
fi
mapfile -t packages < <(printf '%s\n' "${missing[@]}" | sort -u)

if ! command -v apt-get >/dev/null; then
  echo "missing: ${packages[*]}. Install them with your package manager (the names are Debian's) and start again." >&2
  exit 1
fi
if ((EUID != 0)); then
  echo "missing: ${packages[*]}. Run as root: apt-get update && apt-get install --no-install-recommends ${packages[*]}" >&2
  exit 1
fi

echo "installing ${packages[*]} (once)" >&2
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp) made=
trap 'rm -f "$log" ${made:+"$made"}' EXIT
trap 'cat "$log" >&2' ERR # the many lines of apt-get are of use only if it fails
apt-get update -q >"$log" 2>&1

# The packages are wanted as programs only: their services must neither start nor take port 53.
deny=/usr/sbin/policy-rc.d
if [[ ! -e $deny ]]; then
  printf '#!/bin/sh\nexit 101\n' >"$deny"
  made=$deny
  chmod 755 "$deny"
fi
apt-get install -q -y --no-install-recommends "${packages[@]}" </dev/null >>"$log" 2>&1
echo "installed in $SECONDS s" >&2
