// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inventory fills the Installation's status: the processes, etcd, certificates and the last backup of a server.
//
// Guarantees: (1) ReadStatus sends no request. (2) Each part unknown to the server is in status.unknown, with the
// reason and the next step. (3) No private key and no data of a tenant is in the status.
//
// Out of scope: the checks of etcd (package maintenance) and the Leases (package heartbeat).
//
// Read inventory.go first, then certificates.go.
package inventory
