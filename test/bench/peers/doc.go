// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command peers (`make bench-peers`) measures Kubizone beside its alternatives: external-dns with DNSEndpoints, and a
// custom resource with the controller of package minimal. Each publishes to a BIND.
//
// Guarantees: (1) A system runs alone, on a new kube-apiserver, etcd and BIND. The systems alternate within every
// round; a ratio is of two figures of a round. (2) A change is measured from the request until the user can know the
// outcome (by answer, status, or only DNS), and until BIND answers with the data. A change never answered ends the run.
// (3) Every etcd waits for the disk. CPU time excludes BIND, the client, and the system at rest. (4) Peers have
// advantages over their defaults: external-dns has --events, the CRD's controller no limits.
//
// Read run.go, then system.go, then docs/performance.md.
package main
