// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dial connects to the addresses that classes name, except those of the machine itself and of its cloud.
//
// It promises: (1) the address that is judged is the one that is connected to: judging comes after resolution, for
// each address of a name and for each connection, so a name that resolves otherwise later gains nothing; (2) an IPv4
// address is found in whatever IPv6 form carries it; (3) a refusal is a *LocalAddressError and sends no packet.
//
// It does not know classes, protocols or networks: addresses inside a cluster are ordinary ones.
//
// Read dial.go; there is nothing else.
package dial
