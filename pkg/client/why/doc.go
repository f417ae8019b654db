// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package why explains why a DNS name, an address or an object is not served. It follows the way from the rule to the
// answers of the name servers and of the parent zone. The result is a chain of links. The first link that fails is
// the cause.
//
// Guarantees:
//
//	W1. Requests have the rights of the clients. A missing right is named in a link with state Unknown or NotAsked.
//	W2. A chain is decided by Judge, a pure function of Facts.
//	W3. A question to a server takes at most two seconds, and all questions of a chain take five. At most 256 are
//	    sent. Without Clients.Ask none is sent. With Clients.Public none is sent to an address in a private network
//	    that a tenant may have chosen.
//	W4. Texts and lists of a chain are bounded. A printer has to escape octets of tenants and servers.
//
// Read ask.go first.
package why
