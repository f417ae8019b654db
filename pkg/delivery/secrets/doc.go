// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secrets reads Kubernetes Secrets and the TSIG keys in them. The source is a cluster (Cluster) or, without a
// cluster, a directory with files NAMESPACE/NAME/KEY (Directory).
//
// Guarantees:
//
//  1. A Secret is read by name, never listed, so RBAC can allow single Secrets.
//  2. No error quotes a value of a Secret.
//  3. No Secret's name leads to a file outside the directory.
//
// Read secrets.go first.
package secrets
