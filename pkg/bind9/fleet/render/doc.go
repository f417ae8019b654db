// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render computes a BIND server's configuration and Kubernetes objects from a Bind9Instance and its
// Bind9Cluster.
//
// Guarantees:
//
//	R1. Equal Servers have equal objects, octet by octet.
//	R2. User input is parsed and formatted anew before it reaches named.conf: addresses, names, keys. Errors name the
//	 field.
//	R3. The pods satisfy the Pod Security Standard "restricted", and have no token of a ServiceAccount.
//	R4. Kubernetes objects have no ownerReferences to objects of our API: a rebuilt store answers 404 for the owner,
//	 and the garbage collector would remove running DNS. Labels and annotations name the owner.
//
// Out of scope: requests to the cluster, and the time of a new key.
//
// Read server.go first, then config.go (named.conf) and workload.go (pods).
package render
