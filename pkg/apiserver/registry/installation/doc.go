// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installation serves the object Installation "kubizone", in which operators see processes, etcd, certificates
// and the last backup. No object is stored.
//
// Guarantees:
//
//  1. Get answers without a request to another process.
//  2. An Installation has no data of tenants.
package installation
