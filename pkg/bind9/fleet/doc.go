// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet runs BIND servers in a cluster: it makes a Bind9Cluster in each namespace of a ClusterBind9Provider,
// the Bind9Instances of each Bind9Cluster, and the objects of Kubernetes that each Bind9Instance consists of.
//
// It promises:
//
//	F1. Objects are applied whole, by server-side apply, and again after any change by another client. An
//	    object that is as it shall be costs no request.
//	F2. An object that is not of this installation is never changed or removed, unless it carries the annotation
//	    kubi.zone/take-over; the status says Degraded, reason Foreign. Where it is taken over, no moment is without a
//	    ready pod behind its Service.
//	F3. A key is made once: a Secret that cannot be read is no Secret that is missing. A new key is taken beside the
//	    former one until every pod has it.
//	F4. A configuration that cannot be rendered is not applied: servers keep the one that they have.
//	F5. An instance that is deleted leaves nothing. Objects of one that is gone for another reason are removed with
//	    brakes: two live 404s ten minutes apart, a share of the servers an hour, nothing of another
//	    installation.
//
// It does not know which zones there are: servers get them by catalogs, or by their agent.
//
// A look at a server goes one way: facts.go finds out what it is to be and what there is of it, decide.go says what is
// done next and how the server is, and instance.go does that. The steps of TSIG keys (keys.go), the turn of a pod that
// goes first (rollout.go) and the end of a deleted object (leave.go) are decided from facts alone too. testdata has
// what is decided, as text.
//
// Read decide.go, then facts.go, then apply.go.
package fleet
