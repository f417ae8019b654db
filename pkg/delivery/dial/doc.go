// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dial connects to the servers of classes, but not to addresses of this machine or of its cloud's metadata
// services.
//
// Guarantees: (1) For each address of a name and each connection, the checked address is the address connected to. (2)
// IPv4 addresses embedded in IPv6 addresses are found. (3) A refusal is a *LocalAddressError, before any packet.
//
// Out of scope: addresses inside a cluster, which are ordinary.
//
// Read dial.go.
package dial
