// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cluster measures Records behind a real kube-apiserver beside what a platform team could have instead: the
// Flunders of Kubernetes' sample-apiserver, which has no rules, and custom resources of a CRD. `make bench-cluster`
// runs it.
//
// It promises:
//
//	(1) Every way to an object is an arm: straight to the server or through the aggregator, as system:masters or as
//	    a tenant with rights in two namespaces. Arms alternate within every round of one run on one machine, and a
//	    ratio is of two arms in the same round.
//	(2) All arms send objects of one size by one client that decodes nothing, and every server has an etcd of its own
//	    that is set up like the others.
//	(3) A request is sent once and must succeed; a list and a watch must bring every object that there is. A
//	    request that does not ends the run.
//	(4) The measurements are kept as JSON lines, compared with the last kept run, and printed as Markdown.
//
// It does not know any package of the servers: it builds cmd/kubizone and meets it as a cluster does. test/bench
// measures the costs of the ledger beside the same server without it.
//
// Read run.go (what is measured, in order), then arm.go (what is compared), then docs/performance.md for the figures.
package main
