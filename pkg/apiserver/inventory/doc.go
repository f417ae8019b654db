// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inventory fills the status of the Installation, an API object for operators, with the running processes, the
// members of etcd, the expiry of certificates, and the last backup.
//
// Guarantees:
//  1. ReadStatus sends no request.
//  2. Each part that the server does not know is in status.unknown, with the reason and the remedy.
//  3. The status has no private key and no data of a tenant.
//
// Read inventory.go first, then certificates.go.
package inventory
