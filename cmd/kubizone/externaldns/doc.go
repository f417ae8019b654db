// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externaldns is kubizone external-dns: a webhook provider of external-dns that writes endpoints as Records
// into the namespaces of their source objects.
//
// Guarantees:
//
//	E1. Records are written only where a RoleBinding allows writes. Only Records with our label and field manager are
//	    changed or deleted, each in its own namespace.
//	E2. A refused endpoint is left out, and its source object gets an Event with the server's message. Neither a
//	    refusal nor a namespace with slow answers, many endpoints or no budget blocks others or fails the cycle.
//	E3. Each request is answered within ten seconds, by 200, 204 or a 5xx, since external-dns exits otherwise. Longer
//	    work continues after a 503.
//	E4. A cycle without changes writes nothing.
//	E5. The provider listens only on loopback: the protocol has neither passwords nor TLS.
//
// Read options.go, then server.go, provider.go and others.go.
package externaldns
