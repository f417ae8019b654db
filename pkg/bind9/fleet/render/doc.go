// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render computes a BIND server's named.conf and Kubernetes objects, such as Deployment and Secrets, from the
// API objects that users write, a Bind9Instance and its Bind9Cluster. Package fleet applies the result.
//
// Guarantees:
//
//	R1. Equal inputs (Server) give equal objects, octet by octet.
//	R2. No text of a user is copied into named.conf. Addresses, names and keys are parsed and formatted again. Errors
//	    name the field.
//	R3. The pods satisfy the Pod Security Standard "restricted", and have no token of a ServiceAccount.
//	R4. Kubernetes objects have no ownerReferences to objects of our API. After a loss of its store, our API answers
//	    404 for the owner, and the garbage collector would delete running DNS servers. Labels and annotations name the
//	    owner instead.
//
// Read server.go first, then config.go (named.conf) and workload.go (pods).
package render
