// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dial connects to the DNS servers and webhooks of DNSClasses. It refuses addresses of this machine and of its
// cloud's metadata services, such as 169.254.169.254, so that no user can make the controller send requests there.
//
// Guarantees:
//  1. Each address of a host name is checked just before the connection to it, so a changed DNS answer cannot evade the
//     check.
//  2. IPv4 addresses embedded in IPv6 addresses, as by NAT64, are checked too.
//  3. A refusal is a *LocalAddressError, and sends no packet.
package dial
