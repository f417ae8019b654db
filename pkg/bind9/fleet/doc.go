// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet runs BIND servers in Kubernetes: it creates a Bind9Cluster in each namespace of a ClusterBind9Provider,
// the Bind9Instances of each Bind9Cluster, and the Kubernetes objects of each Bind9Instance.
//
// Guarantees:
//
//	F1. Objects are written by server-side apply, and again after another client's change. Without a difference there
//	 is no request.
//	F2. Objects of other managers or installations are never changed or removed, unless annotated with
//	 kubi.zone/take-over. Otherwise the condition Degraded has the reason Foreign. During a take-over the Service
//	 always has a ready pod.
//	F3. A key is generated once: an unreadable Secret does not count as missing. Servers accept a new key beside the
//	 former key until every pod has it.
//	F4. If a configuration cannot be rendered, servers keep their last configuration.
//	F5. A deleted instance leaves no objects. Objects whose owner is gone for another reason are removed slowly: after
//	 two live 404s ten minutes apart, at most a share of the servers per hour.
//
// Read decide.go (choose an action), then facts.go (observe), then apply.go.
package fleet
