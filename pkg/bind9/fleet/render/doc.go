// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render makes the configuration of one BIND server, and the objects of Kubernetes that run it, of what a
// Bind9Instance and its Bind9Cluster say.
//
// It promises:
//
//	R1. The objects are a function of Server: equal servers have equal objects, octet by octet.
//	R2. No text of a user reaches named.conf as it is: addresses, names and keys are parsed and written anew, and what
//	    does not parse is an error that names the field.
//	R3. The pods satisfy the Pod Security Standard "restricted", and have no token of a ServiceAccount.
//	R4. Objects of the cluster have no ownerReferences to objects of ours: a store that was rebuilt answers 404 for an
//	    owner, and the garbage collector of Kubernetes would remove DNS that runs. Labels and annotations name it.
//
// It does not know a cluster: package fleet applies the objects and decides when a key changes.
//
// Read server.go first, then config.go (named.conf) and workload.go (pods).
package render
