// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bind9 runs BIND for zones: the agent beside a named, its client, the provider that shows zones to agents, the
// fleet of pods with a named each, and DNSSEC signing with the DS records at the parent.
//
// For: platform teams that let Kubizone run their name servers. Everything else works without these packages.
//
// Guarantees:
//  1. An agent sees Kubernetes in a single request, the TokenReview of its caller.
//  2. Zones come to BIND by transfer (dns/transfer), never by a file that Kubizone writes.
//
// Imports: kit, dns, apis, delivery, views of zone. Read first: agent/doc.go, fleet/doc.go, signing/doc.go.
package bind9
