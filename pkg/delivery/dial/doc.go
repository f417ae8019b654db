// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dial connects to the servers named in classes, but not to addresses of this machine or of its cloud's
// metadata services.
//
// Guarantees: (1) The address checked is the address connected to, for each address of a name and each connection. (2)
// An IPv4 address is found inside every IPv6 address that embeds it. (3) A refusal is a *LocalAddressError, and no
// packet is sent.
//
// Out of scope: classes, protocols and networks. Addresses inside a cluster are ordinary.
//
// Read dial.go.
package dial
