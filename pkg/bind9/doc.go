// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bind9 runs BIND for zones: agent beside a named, agents (clients with the tokens of classes), provider, which
// delivers zones by agents, fleet (pods with a named each), and signing, DNSSEC with the DS records at the parent.
//
// For: platform teams that let Kubizone run their name servers. Everything else works without these packages.
//
// Guarantees:
//  1. An agent sees Kubernetes in a single request, the TokenReview of its caller.
//  2. Zones come to BIND by transfer, or in mode Update by a first zone file and dynamic updates (RFC 2136).
//
// Imports: kit, dns, apis, delivery, views of zone. Read first: agent/doc.go, fleet/doc.go, signing/doc.go.
package bind9
