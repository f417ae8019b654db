// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serving issues and renews the serving certificate of an aggregated API server. A Secret has the certificate
// authority and a leaf. The APIService's caBundle has the authorities that kube-apiserver trusts.
//
// Guarantees:
//
//	C1. All replicas serve the Secret's leaf. Writes compare the resourceVersion; the loser of a race uses the
//	    winner's leaf.
//	C2. A new authority's leaf is served only after caBundle has had the authority for a while. Until then the old
//	    leaf is served, and caBundle has both authorities.
//	C3. caBundle never goes back to an older state of the Secret, even if replicas race.
//	C4. Leaf and authority are renewed after two thirds of their life, or if the Secret is deleted.
//	C5. An unreadable Secret is left alone, the error names the key, and the last certificate remains served.
//	C6. caBundle is the only field written in an APIService.
//
// Read provider.go first, then material.go.
package serving
